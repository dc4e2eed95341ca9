"""NumPy archives of numeric arrays; nothing is ever unpickled."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from symbayes.data.formats.content import DEFLATE_RATIO, DataFormatError

END_RECORD = 22
HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npz(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The arrays of these names, each checked by the archive's CRC."""
    _check_ends(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: _read_member(path, archive, name) for name in names}
    except DataFormatError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        ValueError,
        OSError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise DataFormatError(path, f"the archive is damaged ({error})") from error


def _check_ends(path: Path) -> None:
    """The archive must fill the file: `zipfile` would skip bytes before and after it."""
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(max(0, path.stat().st_size - END_RECORD))
        end = file.read(4)
    if start != b"PK\x03\x04" or end != b"PK\x05\x06":
        raise DataFormatError(path, "not an .npz archive, or cut off, or with bytes before or after it")


def _read_member(path: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    found = [info for info in archive.infolist() if info.filename == f"{name}.npy"]
    if len(found) != 1:
        raise DataFormatError(path, f"holds {len(found)} arrays called {name!r}, not one")
    info = found[0]
    if info.file_size > path.stat().st_size * DEFLATE_RATIO:
        raise DataFormatError(path, f"{name} claims {info.file_size} bytes, more than the file can hold")
    content = io.BytesIO(archive.read(info))  # compares the CRC before anything is parsed
    dtype, shape = _read_header(path, name, content)
    if content.tell() + math.prod(shape) * dtype.itemsize != info.file_size:
        raise DataFormatError(path, f"{name} claims the shape {shape}, which its size does not match")
    content.seek(0)
    return npy.read_array(content, allow_pickle=False)


def _read_header(path: Path, name: str, file: io.BytesIO) -> tuple[np.dtype, tuple[int, ...]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            version = npy.read_magic(file)
            read = HEADER_READERS[version]
            shape, _, dtype = read(file)
    except Exception as error:  # numpy parses the header as Python text, which can fail in many ways
        raise DataFormatError(path, f"the header of {name} is damaged ({error})") from error
    if dtype.kind not in "biuf" or min(shape, default=0) < 0:
        raise DataFormatError(path, f"{name} is {dtype} {shape}, not an array of numbers")
    return dtype, shape
