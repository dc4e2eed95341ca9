"""A calibration error without bins: the residuals are smoothed (Blasiok and Nakkiran 2024).

With confidence ``c_i`` and hit ``h_i`` of the top label of ``n`` points, and the Gaussian kernel ``K_s`` of
width ``s`` that is reflected at 0 and at 1,

    r_s(t) = 1/n sum_i (h_i - c_i) K_s(t, c_i),        error(s) = integral_0^1 |r_s(t)| d t

and the smooth ECE is the width at which ``error(s) = s``.  The error falls with ``s``, so there is exactly
one.

The reflected kernel is that of heat in a rod with closed ends: in the cosine transform of the residuals,
smoothing multiplies entry ``k`` by ``exp(-(pi k s)^2 / 2)``.

Reference: Blasiok and Nakkiran (2024), Smooth ECE: principled reliability diagrams via kernel smoothing.
"""

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.calibration import top_label

CELLS = 4096
"""Parts of [0, 1] in which residuals are gathered."""
HALVINGS = 20


def smooth_ece(probs: ArrayLike, y: ArrayLike) -> float:
    """The smooth ECE of the top label, to about 2e-4."""
    return smooth_ece_of(*residuals(probs, y))


def residuals(probs: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Of each part of [0, 1] the summed residuals of its points, and how many points there are in all."""
    confidence, hit = top_label(probs, y)
    cell = np.minimum((confidence * CELLS).astype(int), CELLS - 1)
    return np.bincount(cell, hit - confidence, minlength=CELLS), np.array(len(hit))


def smooth_ece_of(sums: np.ndarray, count: np.ndarray) -> float:
    """From `residuals`."""
    from scipy.fft import dct, idct  # takes a while to import

    residual = sums / count
    if np.abs(residual).max() < np.finfo(np.float64).eps:
        return 0.0
    waves, frequency = np.asarray(dct(residual)), np.pi * np.arange(CELLS)

    def error(width: float) -> float:
        smoothed = np.asarray(idct(waves * np.exp(-0.5 * (frequency * width) ** 2)))
        return float(np.sum(np.abs(smoothed)))

    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if error(middle) > middle else (low, middle)
    return (low + high) / 2
