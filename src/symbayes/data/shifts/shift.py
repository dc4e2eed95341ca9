"""One function for all shifts, and the table of their severities."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from symbayes.data.shifts.blur import defocus_blur, gaussian_blur, motion_blur
from symbayes.data.shifts.geometry import rotation, translation
from symbayes.data.shifts.light import brightness, contrast, fog
from symbayes.data.shifts.noise import dead_pixels, gaussian_noise, impulse_noise, shot_noise
from symbayes.data.shifts.resolution import jpeg, pixelate
from symbayes.specs import did_you_mean

SEVERITIES = (1, 2, 3, 4, 5)

# Constants of CIFAR-10-C (Hendrycks and Dietterich, 2019), milder than ImageNet-C's.  One differs: its
# motion blur of severity 4 is (8, 2.0), the same image as severity 3, since weights beyond 6 sigma vanish.
CIFAR_C: dict[str, tuple[Callable[..., np.ndarray], tuple[tuple[Any, ...], ...]]] = {
    "gaussian-noise": (gaussian_noise, ((0.04,), (0.06,), (0.08,), (0.09,), (0.10,))),
    "shot-noise": (shot_noise, ((500.0,), (250.0,), (100.0,), (75.0,), (50.0,))),
    "impulse-noise": (impulse_noise, ((0.01,), (0.02,), (0.03,), (0.05,), (0.07,))),
    "gaussian-blur": (gaussian_blur, ((0.4,), (0.6,), (0.7,), (0.8,), (1.0,))),
    "defocus-blur": (defocus_blur, ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1.0, 0.2), (1.5, 0.1))),
    "motion-blur": (motion_blur, ((6, 1.0), (6, 1.5), (6, 2.0), (8, 2.25), (9, 2.5))),
    "brightness": (brightness, ((0.05,), (0.1,), (0.15,), (0.2,), (0.3,))),
    "contrast": (contrast, ((0.75,), (0.5,), (0.4,), (0.3,), (0.15,))),
    "fog": (fog, ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75))),
    "pixelate": (pixelate, ((0.95,), (0.9,), (0.85,), (0.75,), (0.65,))),
    "jpeg": (jpeg, ((80,), (65,), (58,), (50,), (40,))),
}

OWN: dict[str, tuple[Callable[..., np.ndarray], tuple[tuple[Any, ...], ...]]] = {
    "rotation": (rotation, ((10.0,), (20.0,), (30.0,), (40.0,), (50.0,))),
    "translation": (translation, ((0.05,), (0.1,), (0.15,), (0.2,), (0.25,))),
    "dead-pixels": (dead_pixels, ((0.02,), (0.05,), (0.1,), (0.2,), (0.3,))),
}

TABLE = CIFAR_C | OWN
KINDS = tuple(TABLE)
CHUNK = 1000


def shift(x: np.ndarray | jax.Array, kind: str, severity: int, seed: int = 0) -> np.ndarray:
    """Images float32 (n, height, width, 1 or 3) in [0, 1], shifted: the same shape and range.

    The same seed gives the same images, and the same random draws at every severity.  On average over
    images of 8x8 pixels or more, a higher severity lies further from the clean ones.  Fog, motion blur and
    pixelate follow CIFAR-10-C's constants with a cloud, a line and a grid of our own; values are not
    rounded to bytes except by `jpeg`.
    """
    if kind not in TABLE:
        hint = did_you_mean(kind, KINDS)
        raise ValueError(f"no shift is called {kind!r}{hint}; the known ones are {', '.join(KINDS)}")
    if severity not in SEVERITIES:
        raise ValueError(f"severity must be 1, 2, 3, 4 or 5, not {severity}")
    if seed < 0:
        raise ValueError(f"seed must not be negative, not {seed}")
    images = np.asarray(x)
    _check_images(images)
    function, constants = TABLE[kind]
    shifted = np.empty(images.shape, np.float32)
    for start in range(0, len(images), CHUNK):
        part = slice(start, start + CHUNK)
        rng = np.random.default_rng([seed, zlib.crc32(kind.encode()), start])
        shifted[part] = function(images[part], rng, *constants[severity - 1])
    return np.clip(shifted, 0, 1, out=shifted)


def _check_images(x: np.ndarray) -> None:
    if x.dtype != np.float32 or x.ndim != 4 or x.shape[-1] not in (1, 3):
        raise ValueError(
            f"shifts apply to float32 images (n, height, width, 1 or 3), not {x.dtype} {x.shape}"
        )
    if min(x.shape[1:3]) < 2:
        raise ValueError(f"images must have at least 2x2 pixels, not {x.shape[1]}x{x.shape[2]}")
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        raise ValueError("images must lie in [0, 1]")
