"""How close two predictives of real targets are, where both are equal mixtures of normals.

Each output is compared by itself, and the results are averaged over outputs, positions and examples.
"""

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import by_example
from symbayes.evaluate.regression import mixture

REACH = 6.0
"""Standard deviations beyond the outermost means that are looked at: 1e-9 of a normal lies outside."""
STEPS_PER_SCALE = 8
MOST_STEPS = 4096
WORK = 2**30
"""Densities computed at most; where there would be more, evenly spaced outputs stand for all."""
AT_ONCE = 2**22
TINY = np.finfo(np.float64).tiny


def mean_distance(
    means: ArrayLike, scale: ArrayLike | float, other_means: ArrayLike, other_scale: ArrayLike | float
) -> float:
    """How far the means of two mixtures lie apart, in standard deviations of the second.

    ``sqrt( mean ( (mean - other mean) / other standard deviation )^2 )``, where the standard deviation is
    that of the mixture: noise and disagreement of the draws together.
    """
    return float(np.sqrt(np.mean(squared_distances(means, scale, other_means, other_scale))))


def squared_distances(
    means: ArrayLike, scale: ArrayLike | float, other_means: ArrayLike, other_scale: ArrayLike | float
) -> np.ndarray:
    """Of each example, the mean squared distance of its outputs' means, in the second's variances: (n,)."""
    (m, _), (other, sigma) = _pair(means, scale, other_means, other_scale)
    variance = (sigma**2).mean(axis=0) + other.var(axis=0)
    return by_example((m.mean(axis=0) - other.mean(axis=0)) ** 2 / variance, m.shape[1])


def mixture_total_variation(
    means: ArrayLike, scale: ArrayLike | float, other_means: ArrayLike, other_scale: ArrayLike | float
) -> float:
    """Mean over outputs of half the L1 distance between the densities of two mixtures; from 0 to 1.

    By the trapezoidal rule, with eight steps in the smallest standard deviation of an output.
    """
    return float(np.mean(mixture_total_variations(means, scale, other_means, other_scale)))


def mixture_total_variations(
    means: ArrayLike, scale: ArrayLike | float, other_means: ArrayLike, other_scale: ArrayLike | float
) -> np.ndarray:
    """Of each example, the mean distance of its outputs: (n,); where they are many, of some outputs."""
    pairs = _pair(means, scale, other_means, other_scale)
    (m, sigma), (other, other_sigma) = ([part.reshape(len(part), -1) for part in pair] for pair in pairs)
    outputs = _chosen(m, sigma, other, other_sigma)
    each = np.array([_distance(m[:, j], sigma[:, j], other[:, j], other_sigma[:, j]) for j in outputs])
    return by_example(each, pairs[0][0].shape[1]) if len(each) == m.shape[1] else each


def _distance(m: np.ndarray, sigma: np.ndarray, other: np.ndarray, other_sigma: np.ndarray) -> float:
    grid = _grid(m, sigma, other, other_sigma)
    gap, step = _density(m, sigma, grid) - _density(other, other_sigma, grid), grid[1] - grid[0]
    total = np.sum(np.abs(gap)) - (abs(gap[0]) + abs(gap[-1])) / 2
    # The trapezoidal rule is as good as exact for smooth functions that vanish at their ends, but not at the
    # kinks where the sign changes: there a line crosses zero within a step, and each side ends with a slope
    # (Euler-Maclaurin).
    where = np.flatnonzero(np.signbit(gap[:-1]) != np.signbit(gap[1:]))
    a, b = np.abs(gap[where]), np.abs(gap[where + 1])
    total -= np.sum(a * b / np.maximum(a + b, TINY)) - np.sum(a + b) / 6
    return float(0.5 * step * total)


def _grid(m: np.ndarray, sigma: np.ndarray, other: np.ndarray, other_sigma: np.ndarray) -> np.ndarray:
    """Places that cover both mixtures of one output."""
    centres, widths = np.concatenate([m, other]), np.concatenate([sigma, other_sigma])
    low, high = (centres - REACH * widths).min(), (centres + REACH * widths).max()
    steps = min(MOST_STEPS, int(np.ceil(STEPS_PER_SCALE * (high - low) / widths.min())))
    return np.linspace(low, high, steps + 1)


def _density(m: np.ndarray, sigma: np.ndarray, grid: np.ndarray) -> np.ndarray:
    total = np.zeros(len(grid))
    size = max(1, AT_ONCE // len(grid))
    for start in range(0, len(m), size):
        some, width = m[start : start + size, None], sigma[start : start + size, None]
        total += np.sum(np.exp(-0.5 * ((grid - some) / width) ** 2) / width, axis=0)
    return total / (len(m) * np.sqrt(2 * np.pi))


def _chosen(*parts: np.ndarray) -> np.ndarray:
    """All outputs, or as many of them, evenly spaced, as the work allows."""
    m, _, other, _ = parts
    each = (len(m) + len(other)) * len(_grid(*(part[:, 0] for part in parts)))
    most = max(1, WORK // each)
    count = m.shape[1]
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(int)


def _pair(
    means: ArrayLike, scale: ArrayLike | float, other_means: ArrayLike, other_scale: ArrayLike | float
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    first = mixture(means, scale)
    second = mixture(other_means, other_scale, ("other_means", "other_scale"))
    if first[0].shape[1:] != second[0].shape[1:]:
        raise ValueError(
            "means and other_means must have one shape but for the draws, "
            f"but have {first[0].shape} and {second[0].shape}."
        )
    return first, second
