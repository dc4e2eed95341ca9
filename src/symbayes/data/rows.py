"""Rows as people give them, before they are inputs and targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symbayes.specs import require


def as_array(name: str, rows: Any) -> np.ndarray:
    """A list as an array; rows of different lengths are refused."""
    try:
        return np.asarray(rows)
    except ValueError:
        lengths = sorted({np.size(row) for row in rows})
        told = f" ({', '.join(map(str, lengths[:3]))} values)" if len(lengths) > 1 else ""
        raise ValueError(
            f"the rows of {name} have different lengths{told}: give every row the same number of values"
        ) from None


def require_rows(**given: Any) -> None:
    """Refuse what has no rows, and rows of different lengths."""
    for name, rows in given.items():
        if isinstance(rows, list | tuple):
            as_array(name, rows)
        empty = not isinstance(rows, Mapping) and hasattr(rows, "__len__") and len(rows) == 0
        require(not empty, f"{name} has no rows: give at least two, one to train on and one to test on")
