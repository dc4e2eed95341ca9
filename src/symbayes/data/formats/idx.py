"""IDX, the format of MNIST: two zero bytes, a type code, the number of axes, sizes, values.

Sizes are big-endian; the file may be gzipped.  Only bytes (type code 8) are read: all published
sets are of that type, and another code is more likely a damaged header.
"""

from __future__ import annotations

import io
import math
import struct
from pathlib import Path

import numpy as np

from symbayes.data.formats.content import DataFormatError, largest_content, open_content

MAGIC = b"\0\0\x08"
MOST_AXES = 8


def read_idx(path: Path) -> np.ndarray:
    """The uint8 array in an IDX file."""
    with open_content(path) as file:
        shape = _read_shape(path, file)
        claimed = math.prod(shape)
        if claimed > largest_content(path):
            raise DataFormatError(path, f"the header claims {claimed} bytes, more than the file can hold")
        body = file.read(claimed)
        if len(body) < claimed:
            raise DataFormatError(path, f"cut off: the header claims {claimed} bytes, {len(body)} are there")
        if file.read(1):
            raise DataFormatError(path, f"there are bytes after the {claimed} that the header claims")
    return np.frombuffer(body, np.uint8).reshape(shape)


def _read_shape(path: Path, file: io.BufferedIOBase) -> tuple[int, ...]:
    magic = file.read(4)
    if len(magic) < 4 or magic[:3] != MAGIC:
        raise DataFormatError(path, f"not an IDX file of bytes: it begins with {magic.hex() or 'nothing'}")
    axes = magic[3]
    if not 1 <= axes <= MOST_AXES:
        raise DataFormatError(path, f"the header claims {axes} axes")
    sizes = file.read(4 * axes)
    if len(sizes) < 4 * axes:
        raise DataFormatError(path, "the header is cut off")
    shape = struct.unpack(f">{axes}I", sizes)
    if 0 in shape:
        raise DataFormatError(path, f"the header claims the empty shape {shape}")
    return shape
