"""Tables of numbers as text: rows of equal length, separated by white space."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np

from symbayes.data.formats.content import DataFormatError, open_content

MOST_BYTES = 1 << 26


def read_table(path: Path) -> np.ndarray:
    """The numbers, float64 (rows, columns), all finite."""
    with open_content(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataFormatError(path, f"a table of text has at most {MOST_BYTES} bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy only warns of an empty file
            table = np.loadtxt(io.StringIO(content.decode("ascii")), np.float64, ndmin=2)
    except (ValueError, UserWarning) as error:
        raise DataFormatError(path, f"not a table of numbers ({error})") from error
    if not np.isfinite(table).all():
        raise DataFormatError(path, "holds values that are not finite")
    return table


def read_indices(path: Path, size: int) -> np.ndarray:
    """A list of different whole numbers in 0..size-1, one or more."""
    numbers = read_table(path)
    indices = numbers.ravel()
    if 1 not in numbers.shape or (indices != np.rint(indices)).any():
        raise DataFormatError(path, "not a list of whole numbers")
    if indices.min() < 0 or indices.max() >= size:
        raise DataFormatError(path, f"indices must lie in 0..{size - 1}")
    if len(np.unique(indices)) != len(indices):
        raise DataFormatError(path, "an index occurs twice")
    return indices.astype(np.int64)
