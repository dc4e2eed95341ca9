"""The folder of a run: one process writes it at a time, and none writes where someone else's files are."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from symbayes.draws import files
from symbayes.draws.shards import RunError


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the system releases it when the process ends, however it ends."""
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise files.explained(error, folder / "lock") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            raise RunError(
                f"{folder} is being written by another process ({holder or 'unknown'}): "
                "wait for it, stop it, or choose another folder"
            ) from error
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the note of its holder
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def require_run_or_empty(folder: Path) -> None:
    """Refuse a folder of someone else's files, before anything is written there."""
    expected = (folder / "lock", folder / "config.json.partial")
    foreign = (path for path in folder.rglob("*") if not path.is_dir() and path not in expected)
    if (path := next(foreign, None)) and not (folder / "config.json").exists():
        raise RunError(
            f"{folder} is not a run and not empty (it holds {path.relative_to(folder)}): "
            "choose another folder"
        )
