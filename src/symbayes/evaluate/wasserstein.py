"""Sliced Wasserstein distance: the distance of two sets of draws along random directions.

On a line, the Wasserstein distance of order ``p`` of two sets of ``n`` numbers is that of their sorted
values,

    W_p^p = 1/n sum_i |x_(i) - y_(i)|^p

The sliced distance (Bonneel et al. 2015) takes the mean of the p-th powers over directions on the sphere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.distances import points

DIRECTIONS = 200


def sliced_wasserstein(
    x: ArrayLike, y: ArrayLike, order: float = 2.0, directions: int = DIRECTIONS, seed: int = 0
) -> float:
    """Between (n, d) and (n, d), along so many random directions, the same for every pair of one d."""
    first, second = points(x, "x"), points(y, "y")
    if first.shape != second.shape:
        raise ValueError(
            f"x and y are compared at equal sizes, not {first.shape} and {second.shape}: thin the larger."
        )
    if order < 1 or directions < 1:
        raise ValueError(f"order and directions are at least 1, not {order} and {directions}.")
    lines = np.random.default_rng(seed).standard_normal((first.shape[1], directions), dtype=np.float32)
    lines /= np.linalg.norm(lines, axis=0)
    a, b = (np.sort((each @ lines).astype(np.float64), axis=0) for each in (first, second))
    return float(np.mean(np.abs(a - b) ** order) ** (1 / order))
