"""MATLAB 5 files as SVHN publishes them: `X` uint8 (32, 32, 3, n) and `y` (n, 1) in 1..10.

The file is a 128-byte header and elements, each a tag (type, size) and data.  An element is a matrix,
or a zlib stream that holds one; a matrix is made of four elements: flags, dimensions, name, values.
Read here and not by `scipy.io.loadmat`, because a damaged file makes that crash the process.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from symbayes.data.formats.content import DEFLATE_RATIO, DataFormatError

HEADER = 128
BYTE_ORDERS = {b"\x00\x01IM": "<", b"\x01\x00MI": ">"}
INT8, UINT8, INT32, UINT32, DOUBLE, MATRIX, COMPRESSED = 1, 2, 5, 6, 9, 14, 15
STORAGE = {UINT8: "u1", DOUBLE: "f8"}
DOUBLE_CLASS, UINT8_CLASS = 6, 9
MOST_AXES = 8


def read_mat(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 (n, 32, 32, 3) and labels uint8 (n,) in 0..9: the file's label 10 is digit 0."""
    with path.open("rb") as file:
        header, body = file.read(HEADER), file.read()
    if len(header) < HEADER or not header.startswith(b"MATLAB 5.0") or header[124:] not in BYTE_ORDERS:
        raise DataFormatError(path, "not a MATLAB 5 file")
    order = BYTE_ORDERS[header[124:]]
    arrays: dict[str, np.ndarray] = {}
    try:
        for kind, content in _elements(memoryview(body), order, padded=False):
            name, array = _matrix(_inflated(content, order) if kind == COMPRESSED else content, order)
            if name in arrays or name not in ("X", "y"):
                raise ValueError(f"holds {name!r}, not X and y once each")
            arrays[name] = array
        if len(arrays) < 2:
            raise ValueError(f"holds {', '.join(arrays) or 'nothing'}, not X and y")
        return _images(arrays["X"]), _labels(arrays["y"], arrays["X"].shape[-1])
    except ValueError as error:
        raise DataFormatError(path, str(error)) from error


def _elements(body: memoryview, order: str, padded: bool) -> Iterator[tuple[int, memoryview]]:
    """Type and data of each element.

    Within a matrix they are `padded` to eight bytes, and data of up to four bytes may share the tag.
    """
    at = 0
    while at < len(body):
        if len(body) - at < 8:
            raise ValueError("cut off, or with bytes after the last element")
        kind, size = struct.unpack_from(f"{order}II", body, at)
        start = at + 8
        if padded and kind >> 16:
            kind, size, start = kind & 0xFFFF, kind >> 16, at + 4
            if size > 4:
                raise ValueError(f"a small element claims {size} bytes")
            end = at + 8
        else:
            end = start + (-(-size // 8) * 8 if padded else size)
        if start + size > len(body):
            raise ValueError(f"an element claims {size} bytes, more than the file has left")
        yield kind, body[start : start + size]
        at = end


def _inflated(content: memoryview, order: str) -> memoryview:
    """The data of the one matrix in a zlib stream, whose own size claim bounds what is unpacked."""
    stream = zlib.decompressobj()
    try:
        tag = stream.decompress(content, 8)
        kind, size = struct.unpack(f"{order}II", tag) if len(tag) == 8 else (0, 0)
        if kind != MATRIX or not 0 < size <= len(content) * DEFLATE_RATIO:
            raise ValueError("a compressed element holds no matrix, or claims more than the file can hold")
        matrix = stream.decompress(stream.unconsumed_tail, size)
        rest = stream.decompress(stream.unconsumed_tail, 1)  # to the end, where the checksum is compared
    except zlib.error as error:
        raise ValueError(f"a compressed element is damaged ({error})") from error
    if len(matrix) != size or rest or not stream.eof or stream.unused_data:
        raise ValueError("a compressed element is cut off or too long")
    return memoryview(matrix)


def _matrix(content: memoryview, order: str) -> tuple[str, np.ndarray]:
    """Name and array of a real matrix of class uint8 or double, in the type in which it is stored."""
    parts = list(_elements(content, order, padded=True))
    if [kind for kind, _ in parts[:3]] != [UINT32, INT32, INT8] or len(parts) != 4:
        raise ValueError("an element is no plain matrix")
    flags, sizes, name, (storage, values) = *(bytes(data) for _, data in parts[:3]), parts[3]
    label = name.decode("latin-1")
    if len(flags) != 8 or flags[0 if order == "<" else 3] not in (UINT8_CLASS, DOUBLE_CLASS):
        raise ValueError(f"{label} is not of class uint8 or double")
    if flags[1 if order == "<" else 2] or storage not in STORAGE:
        raise ValueError(f"{label} is not stored as real numbers of type uint8 or double")
    if len(sizes) % 4 or not 2 <= len(sizes) // 4 <= MOST_AXES:
        raise ValueError(f"{label} claims {len(sizes) / 4} axes")
    shape = struct.unpack(f"{order}{len(sizes) // 4}i", sizes)
    dtype = np.dtype(order + STORAGE[storage])
    if min(shape) < 1 or math.prod(shape) * dtype.itemsize != len(values):
        raise ValueError(f"{label} claims the shape {shape}, which its {len(values)} bytes do not match")
    return label, np.frombuffer(values, dtype).reshape(shape, order="F")


def _images(x: np.ndarray) -> np.ndarray:
    if x.dtype != np.uint8 or x.ndim != 4 or x.shape[:3] != (32, 32, 3):
        raise ValueError(f"X is {x.dtype} {x.shape}, not uint8 (32, 32, 3, n)")
    return np.ascontiguousarray(x.transpose(3, 0, 1, 2))


def _labels(y: np.ndarray, count: int) -> np.ndarray:
    if y.shape != (count, 1):
        raise ValueError(f"y is {y.dtype} {y.shape}, not ({count}, 1)")
    if not np.isin(y, np.arange(1, 11)).all():
        raise ValueError("y has labels outside 1..10")
    return y[:, 0].astype(np.uint8) % 10
