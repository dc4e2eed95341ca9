"""A file's content, plain or gzipped, and the one error of all readers."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEFLATE_RATIO = 1032
"""No deflate stream expands further than this, so a larger claim is false."""


class DataFormatError(ValueError):
    """A file that is not what its format, its name or its checksum says."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


def is_gzip(path: Path) -> bool:
    """By the file's first bytes, whatever its name."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def largest_content(path: Path) -> int:
    """The most bytes that the content can have, given the file's size."""
    size = path.stat().st_size
    return size * DEFLATE_RATIO if is_gzip(path) else size


@contextmanager
def open_content(path: Path) -> Iterator[io.BufferedIOBase]:
    """The content, unzipped where it is gzipped; a damaged stream is a `DataFormatError`."""
    try:
        if is_gzip(path):
            with gzip.open(path, "rb") as file:
                yield file
        else:
            with path.open("rb") as file:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataFormatError(path, f"the gzip stream is damaged or cut off ({error})") from error
