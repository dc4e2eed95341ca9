"""Noise: what a sensor adds."""

from __future__ import annotations

import numpy as np


def gaussian_noise(x: np.ndarray, rng: np.random.Generator, scale: float) -> np.ndarray:
    """``x + scale * N(0, 1)`` per value."""
    return x + scale * rng.standard_normal(x.shape, np.float32)


def shot_noise(x: np.ndarray, rng: np.random.Generator, photons: float) -> np.ndarray:
    """``Poisson(photons * x) / photons`` per value."""
    return rng.poisson(x * photons) / photons


def impulse_noise(x: np.ndarray, rng: np.random.Generator, share: float) -> np.ndarray:
    """A share of the values becomes 0 or 1, either with the same probability."""
    hit = rng.random(x.shape) < share
    salt = rng.random(x.shape) < 0.5
    return np.where(hit, salt, x)


def dead_pixels(x: np.ndarray, rng: np.random.Generator, share: float) -> np.ndarray:
    """A share of the pixels becomes black in all channels."""
    dead = rng.random((*x.shape[:3], 1)) < share
    return np.where(dead, 0.0, x)
