"""Points of the plane counted in hexagons (Carr et al. 1987)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import finite


@dataclass(frozen=True)
class Hexagons:
    """Centres (h, 2) of the hexagons that hold any point, how many each holds, and their width."""

    centres: np.ndarray
    counts: np.ndarray
    width: float

    def holding(self, share: float = 0.5) -> int:
        """The least number of hexagons that hold such a share of the points."""
        largest = np.cumsum(np.sort(self.counts)[::-1])
        return int(np.searchsorted(largest, share * largest[-1])) + 1


def hexagons(points: ArrayLike, width: float) -> Hexagons:
    """Count (n, 2) in hexagons with a centre at the origin and so wide from side to side.

    Centres are those of two rectangular lattices, one shifted by half a cell; a point belongs to the nearer.
    """
    xy = finite(points, "points")
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise ValueError(f"points are (n, 2), not {xy.shape}.")
    if not width > 0:
        raise ValueError(f"width must be positive, but is {width}.")
    cell = np.array([width, math.sqrt(3) * width])
    one = np.round(xy / cell)
    other = np.floor(xy / cell) + 0.5
    nearer = (((xy - one * cell) ** 2).sum(1) > ((xy - other * cell) ** 2).sum(1))[:, None]
    # Twice the place is whole in both lattices, so that equal centres are equal numbers.
    places, counts = np.unique(
        (2 * np.where(nearer, other, one)).astype(np.int64), axis=0, return_counts=True
    )
    return Hexagons(places * cell / 2, counts, float(width))
