"""Shards: the files that hold the draws of a run, one for each block that has some.

Many methods give draws of which most weights are the same: masks over one network, a Gaussian over its last
layer.  An array of variables that all draws of a block share is stored with one draw, and where the block
before has the same one, not again: the journal line says which block holds it, under ``once``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from symbayes.draws import files
from symbayes.draws.draws import VARIABLES

Steady = dict[str, tuple[int, np.ndarray]]
"""By name, the block that holds an array which did not change, and its one draw (chain, 1, ...)."""


class RunError(RuntimeError):
    """A run folder that cannot be used as asked; the message says why and what to do."""


@dataclass(frozen=True)
class StoredFile:
    """A file that a journal line names."""

    path: Path
    bytes: int
    sha256: str

    def verify(self) -> Path:
        """The path, once size and checksum are known to be right."""
        self.verify_size()
        _verify_content(self, self.path.stat().st_mtime_ns)
        return self.path

    def verify_size(self) -> None:
        if not self.path.exists():
            raise RunError(f"{self.path} is missing: restore it from a copy, or draw the run anew elsewhere")
        if self.path.stat().st_size != self.bytes:
            raise RunError(
                f"{self.path} is damaged ({self.path.stat().st_size} bytes, {self.bytes} expected): "
                "restore it from a copy, or draw the run anew elsewhere"
            )


@functools.lru_cache(maxsize=4096)
def _verify_content(file: StoredFile, modified: int) -> None:
    """Compare the checksum, once for every time the file was modified."""
    if files.file_sha256(file.path) != file.sha256:
        raise RunError(
            f"{file.path} is damaged (its checksum does not match the journal): "
            "restore it from a copy, or draw the run anew elsewhere"
        )


@dataclass(frozen=True)
class ShardSegment:
    """The draws in one shard, read when asked for.

    `once` has the files of arrays that all its draws share.
    """

    file: StoredFile
    draws: int
    once: Mapping[str, StoredFile] = field(default_factory=dict)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        found = _shapes(self.file)
        for home in dict.fromkeys(self.once.values()):
            there = _shapes(home)
            found |= {name: there[name] for name, file in self.once.items() if file == home}
        return {name: (shape[0], self.draws, *shape[2:]) for name, shape in found.items()}

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        if name not in self.once:
            return _part(self.file, name, draws, rows)
        count = len(range(*draws.indices(self.draws)))
        return np.repeat(_part(self.once[name], name, slice(1), rows), count, axis=1)

    def checksums(self) -> list[str]:
        """Of the files that hold its arrays, once they are known to be right."""
        homes = dict.fromkeys([self.file, *self.once.values()])
        for file in homes:
            file.verify()
        return [file.sha256 for file in homes]


def _shapes(file: StoredFile) -> dict[str, tuple[int, ...]]:
    with files.open_arrays(file.verify()) as arrays:
        return {name: tuple(arrays.get_slice(name).get_shape()) for name in arrays.keys()}  # noqa: SIM118


def _part(file: StoredFile, name: str, draws: slice, rows: slice) -> np.ndarray:
    with files.open_arrays(file.verify()) as arrays:
        part = arrays.get_slice(name)
        return part[:, draws] if len(part.get_shape()) == 2 else part[:, draws, rows]


def without_repeats(
    draws: Mapping[str, np.ndarray], block: int, before: Steady
) -> tuple[dict[str, np.ndarray], dict[str, int], Steady]:
    """What a block's shard has to hold of its draws, given what did not change in the block before; which
    blocks hold the rest; and what did not change in this one."""
    written: dict[str, np.ndarray] = {}
    once: dict[str, int] = {}
    steady: Steady = {}
    for name, array in draws.items():
        first = array[:, :1]
        if not name.startswith(f"{VARIABLES}/") or not _same(array, first):
            written[name] = array
            continue
        home, known = before.get(name, (block, None))
        if known is None or not _same(first, known):
            home, written[name] = block, first
        once[name], steady[name] = home, (home, first)
    return written, once, steady


def _same(array: np.ndarray, other: np.ndarray) -> bool:
    """Whether both have the same bytes, where one has a single draw and the other any number."""
    if array.dtype != other.dtype or array.shape[2:] != other.shape[2:]:
        return False
    bits = f"u{array.dtype.itemsize}"
    return bool((_bits(array, bits) == _bits(other, bits)).all())


def _bits(array: np.ndarray, bits: str) -> np.ndarray:
    return np.ascontiguousarray(array).view(bits)
