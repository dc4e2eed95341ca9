"""Blur: a sum over neighbouring pixels."""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def gaussian_blur(x: np.ndarray, rng: np.random.Generator, sigma: float) -> np.ndarray:
    """Convolution with a Gaussian of `sigma` pixels, the edge repeated."""
    return ndimage.gaussian_filter(x, (0, sigma, sigma, 0), mode="nearest")


def defocus_blur(x: np.ndarray, rng: np.random.Generator, radius: float, softness: float) -> np.ndarray:
    """Convolution with a disk whose rim is softened by a 3x3 Gaussian."""
    return ndimage.correlate(x, disk(radius, softness)[None, :, :, None], mode="mirror")


def disk(radius: float, softness: float) -> np.ndarray:
    """The kernel: pixels within `radius` of the middle, smoothed, summing to one."""
    reach = int(np.ceil(radius)) + 1
    axis = np.arange(-reach, reach + 1)
    inside = (axis[:, None] ** 2 + axis**2 <= radius**2).astype(np.float64)
    rim = np.exp(-(np.arange(-1, 2) ** 2) / (2 * softness**2))
    smooth = ndimage.convolve(inside, np.outer(rim, rim), mode="constant")
    return (smooth / smooth.sum()).astype(np.float32)


def motion_blur(x: np.ndarray, rng: np.random.Generator, radius: int, sigma: float) -> np.ndarray:
    """Smear along a line at an angle within 45 degrees of horizontal, another for each image.

    The weights ``exp(-i^2 / 2 sigma^2)``, i = 0..2 radius, trail to one side; steps are rounded to
    whole pixels and the edge is repeated.
    """
    angles = rng.uniform(-np.pi / 4, np.pi / 4, len(x))
    weights = np.exp(-(np.arange(2 * radius + 1) ** 2) / (2 * sigma**2))
    weights /= weights.sum()
    blurred = np.zeros(x.shape, np.float32)
    for step, weight in enumerate(weights):
        down, across = np.rint(step * np.sin(angles)), np.rint(step * np.cos(angles))
        blurred += np.float32(weight) * translated(x, down.astype(int), across.astype(int))
    return blurred


def translated(x: np.ndarray, down: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Each image moved by its own whole number of pixels, the edge repeated."""
    height, width = x.shape[1:3]
    rows = np.clip(np.arange(height) - down[:, None], 0, height - 1)
    columns = np.clip(np.arange(width) - across[:, None], 0, width - 1)
    return x[np.arange(len(x))[:, None, None], rows[:, :, None], columns[:, None, :]]
