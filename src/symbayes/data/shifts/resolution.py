"""Resolution: what storing an image coarsely does; both go through 8-bit images."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from PIL import Image


def pixelate(x: np.ndarray, rng: np.random.Generator, factor: float) -> np.ndarray:
    """Fewer pixels, then as many as before, both by box averaging."""
    height, width = x.shape[1:3]
    small = max(1, int(width * factor)), max(1, int(height * factor))
    box = Image.Resampling.BOX
    return _each(x, lambda image: image.resize(small, box).resize((width, height), box))


def jpeg(x: np.ndarray, rng: np.random.Generator, quality: int) -> np.ndarray:
    """JPEG compression at a quality of 1 to 95."""

    def compressed(image: Image.Image) -> Image.Image:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        return Image.open(buffer)

    return _each(x, compressed)


def _each(x: np.ndarray, transform: Callable[[Image.Image], Image.Image]) -> np.ndarray:
    """Apply a function of Pillow images to each."""
    grey = x.shape[-1] == 1
    pixels = np.rint(x * 255).astype(np.uint8)
    changed = [np.asarray(transform(Image.fromarray(image[..., 0] if grey else image))) for image in pixels]
    return np.reshape(np.stack(changed), x.shape) / np.float32(255)
