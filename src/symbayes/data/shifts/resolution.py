"""Resolution: what storing an image coarsely does."""

from __future__ import annotations

import io

import numpy as np


def pixelate(x: np.ndarray, rng: np.random.Generator, factor: float) -> np.ndarray:
    """Fewer pixels, then as many as before, both by box averaging.

    The coarse pixels have a side of ``1 / factor`` pixels and lie at an offset of each image's own.
    Rounding their number to whole ones, all beginning at the corner, would make some small factors no
    worse than larger ones: on 8x8 images 0.9 would be 0.95.
    """
    across_rows, across_columns = (
        box_averaging(pixels, 1 / factor, rng.random(len(x))) for pixels in x.shape[1:3]
    )
    channels_first = np.moveaxis(x, 3, 1)
    coarse = across_rows[:, None] @ channels_first @ across_columns.swapaxes(1, 2)[:, None]
    return np.moveaxis(coarse, 1, 3)


def box_averaging(pixels: int, side: float, offset: np.ndarray) -> np.ndarray:
    """Matrices (image, pixels, pixels): average over boxes of length `side`, then over the boxes in a pixel.

    The first box of an image begins `offset` times `side` before the first pixel; boxes are cut at the ends.
    """
    count = int(np.ceil(pixels / side)) + 1
    edges = np.clip(side * (np.arange(count + 1) - offset[:, None]), 0, pixels)[:, :, None]
    left = np.arange(pixels)
    shared = np.clip(np.minimum(edges[:, 1:], left + 1) - np.maximum(edges[:, :-1], left), 0, None)
    lengths = edges[:, 1:] - edges[:, :-1]
    down = shared / np.where(lengths > 0, lengths, 1)
    return (shared.swapaxes(1, 2) @ down).astype(np.float32)


def jpeg(x: np.ndarray, rng: np.random.Generator, quality: int) -> np.ndarray:
    """JPEG compression of the 8-bit image at a quality of 1 to 95."""
    from PIL import Image

    def compressed(image: np.ndarray) -> np.ndarray:
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "JPEG", quality=quality)
        return np.asarray(Image.open(buffer))

    grey = x.shape[-1] == 1
    pixels = np.rint(x * 255).astype(np.uint8)
    changed = [compressed(image[..., 0] if grey else image) for image in pixels]
    return np.reshape(np.stack(changed), x.shape) / np.float32(255)
