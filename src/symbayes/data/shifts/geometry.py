"""Geometry: where the object is."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from symbayes.data.shifts.blur import translated

DIRECTIONS = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j])


def rotation(x: np.ndarray, rng: np.random.Generator, degrees: float) -> np.ndarray:
    """Rotate about the middle, to either side with the same probability, the edge repeated."""
    left = rng.random(len(x)) < 0.5
    rotated = np.empty(x.shape, np.float32)
    for side, angle in ((left, degrees), (~left, -degrees)):
        rotated[side] = ndimage.rotate(x[side], angle, axes=(1, 2), reshape=False, order=1, mode="nearest")
    return rotated


def translation(x: np.ndarray, rng: np.random.Generator, share: float) -> np.ndarray:
    """Move by a share of the shorter side (up to whole pixels) in one of eight directions."""
    pixels = int(np.ceil(share * min(x.shape[1:3])))
    down, across = (pixels * DIRECTIONS[rng.integers(8, size=len(x))]).T
    return translated(x, down, across)
