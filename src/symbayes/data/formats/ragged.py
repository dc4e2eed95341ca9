"""Token sequences of unequal lengths: row i is ``ids[offsets[i]:offsets[i + 1]]``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from symbayes.data.formats.content import DataFormatError

PAD = 0


def pad_ragged(path: Path, ids: np.ndarray, offsets: np.ndarray, vocabulary: int, length: int) -> np.ndarray:
    """Rows of one length, int32 (n, length): the last `length` tokens, zeros in front of shorter ones.

    `path` is where the arrays came from, for the message when they are wrong.
    """
    if length < 1:
        raise ValueError(f"length must be at least 1, not {length}")
    check_ragged(path, ids, offsets, vocabulary)
    ends, sizes = offsets[1:], np.diff(offsets)
    where = ends[:, None] + np.arange(-length, 0)
    kept = np.arange(-length, 0) >= -sizes[:, None]
    padded = np.full(where.shape, PAD, np.int32)
    padded[kept] = ids[where[kept]]
    return padded


def check_ragged(path: Path, ids: np.ndarray, offsets: np.ndarray, vocabulary: int) -> None:
    """Refuse arrays that are not the ragged form of tokens in 1..vocabulary-1."""
    for name, array in (("ids", ids), ("offsets", offsets)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise DataFormatError(
                path, f"{name} must be a vector of integers, not {array.dtype} {array.shape}"
            )
    if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != len(ids):
        raise DataFormatError(path, f"the offsets must run from 0 to the number of tokens, {len(ids)}")
    if (offsets[1:] < offsets[:-1]).any():
        raise DataFormatError(path, "the offsets must not fall")
    if len(ids) and not (ids.min() > PAD and ids.max() < vocabulary):
        raise DataFormatError(path, f"tokens must lie in 1..{vocabulary - 1}, not {ids.min()}..{ids.max()}")
