"""Light: brightness, contrast, fog."""

from __future__ import annotations

import numpy as np
from scipy import ndimage


def brightness(x: np.ndarray, rng: np.random.Generator, added: float) -> np.ndarray:
    """Raise the value V = max(R, G, B) at the same hue and saturation: ``x * clip(V + added) / V``."""
    value = x.max(axis=-1, keepdims=True)
    raised = np.clip(value + added, 0, 1)
    return np.where(value > 0, x * (raised / np.where(value > 0, value, 1)), raised)


def contrast(x: np.ndarray, rng: np.random.Generator, factor: float) -> np.ndarray:
    """Shrink each channel towards its mean over the image."""
    mean = x.mean(axis=(1, 2), keepdims=True)
    return (x - mean) * factor + mean


def fog(x: np.ndarray, rng: np.random.Generator, thickness: float, decay: float) -> np.ndarray:
    """Add a cloud, then dim so that the brightest pixel keeps its value."""
    brightest = x.max(axis=(1, 2, 3), keepdims=True)
    misty = x + thickness * cloud(rng, len(x), x.shape[1], x.shape[2], decay)[..., None]
    return misty * brightest / (brightest + thickness)


def cloud(rng: np.random.Generator, count: int, height: int, width: int, decay: float) -> np.ndarray:
    """Fractal noise in [0, 1]: octaves on ever finer grids, each weaker by `decay`."""
    size = 1 << (max(height, width, 2) - 1).bit_length()
    total = np.zeros((count, size, size))
    cells, weight = 2, 1.0
    while cells <= size:
        octave = rng.uniform(-1, 1, (count, cells, cells))
        zoom = size // cells
        fine = ndimage.zoom(octave, (1, zoom, zoom), order=1, mode="grid-wrap", grid_mode=True)
        total += weight * np.asarray(fine)
        cells, weight = cells * 2, weight / decay
    total = total[:, :height, :width]
    low, high = total.min(axis=(1, 2), keepdims=True), total.max(axis=(1, 2), keepdims=True)
    return (total - low) / (high - low)
