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
    """Move by a share of the shorter side in one of eight directions, the edge repeated.

    Between whole pixels values are interpolated linearly, so that a larger share moves a small image
    further, too.
    """
    pixels = share * min(x.shape[1:3])
    whole = int(pixels)
    down, across = DIRECTIONS[rng.integers(8, size=len(x))].T
    still = np.zeros_like(down)
    for vertical, horizontal in ((down, still), (still, across)):
        near = translated(x, whole * vertical, whole * horizontal)
        far = translated(x, (whole + 1) * vertical, (whole + 1) * horizontal)
        x = near + np.float32(pixels - whole) * (far - near)
    return x
