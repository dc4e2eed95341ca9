"""Keep compiled programs from one command to the next, in the user's cache.

A command that runs a program again reads it instead of compiling it: on an H200 an ensemble of five LeNets
then takes 9 s instead of 41.  The compiled program itself is kept, so draws do not change.

``SYMBAYES_COMPILED`` names another folder, or is ``off``.  JAX's ``JAX_COMPILATION_CACHE_DIR`` overrides it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

MOST = 2**30
"""The most bytes that are kept; the least recently used programs are removed first."""
SHORTEST = 0.1
"""Programs that compile in fewer seconds are not kept."""
FAILED = ("Error reading persistent compilation cache", "Error writing persistent compilation cache")
"""How JAX's warnings begin when it compiles after all."""


def keep_compiled() -> Path | None:
    """Let JAX keep what it compiles; returns the folder.  It has an effect only before JAX is imported."""
    told = os.environ.get("SYMBAYES_COMPILED", "")
    if (
        told.lower() in ("off", "0", "no")
        or "jax" in sys.modules
        or "JAX_COMPILATION_CACHE_DIR" in os.environ
    ):
        return None
    try:
        folder = (Path(told).expanduser() if told else _cache()) / _machine()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _own(folder):
            return None
        _shrink(folder, MOST)
    except (OSError, RuntimeError):  # nowhere to write, or no home
        return None
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", str(SHORTEST))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    return folder


def forget_compiled() -> None:
    """Remove all that is kept: an entry is damaged, and JAX does not say which."""
    folder = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if folder and Path(folder).name == _machine():
        _shrink(Path(folder), 0)


def _cache() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "symbayes" / "compiled"


def _machine() -> str:
    """A name for this kind of processor: machines that share a home may not run one another's programs."""
    told = [platform.machine(), platform.system()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        told += sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _own(folder: Path) -> bool:
    """Whether nobody else can put programs there."""
    if not hasattr(os, "getuid"):
        return True
    found = folder.stat()
    return found.st_uid == os.getuid() and not found.st_mode & 0o022


def _shrink(folder: Path, most: int) -> None:
    entries = sorted(_entries(folder), reverse=True)
    size = 0
    for _, path, bytes_here in entries:
        size += bytes_here
        if size > most:
            path.unlink(missing_ok=True)


def _entries(folder: Path) -> Iterator[tuple[float, Path, int]]:
    """When each file was last used, and its size."""
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # another command may remove it meanwhile
            found = path.stat()
            if path.is_file():
                yield max(found.st_atime, found.st_mtime), path, found.st_size
