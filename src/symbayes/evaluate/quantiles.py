"""Whether quantiles and whole distributions of real targets are met: CRPS, quantile calibration, PIT.

The predictive is an equal mixture of normals, (s, n, ..., d), as in `regression`; every output of every point
is taken by itself.  With ``X`` and ``X'`` independent draws of the mixture, ``F_i`` its distribution function
at point ``i``, and the probabilities ``q`` from 1 % to 99 %,

    CRPS = E |X - y| - 1/2 E |X - X'|
    quantile error = mean_q |q - share of points i with F_i(y_i) <= q|

Reference: Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation; Grimit et
al. (2006), The continuous ranked probability score for circular variables and its application to mesoscale
forecast ensemble verification; Kuleshov et al. (2018), Accurate uncertainties for deep learning using
calibrated regression.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from symbayes.evaluate.inputs import by_example
from symbayes.evaluate.regression import mixture_cdf, targeted

LEVELS = np.arange(1, 100) / 100
"""Probabilities of the quantiles that are looked at."""
REACH = 8.0
"""Standard deviations beyond the outermost means that are integrated over."""
STEPS_PER_SCALE = 2.0
"""Steps of the trapezoidal rule in the smallest standard deviation: for what is as smooth as a normal
distribution the rule is then exact up to 1e-12."""
AT_ONCE = 2**20


def crps(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike) -> float:
    """Continuous ranked probability score, mean over outputs, in the units of the targets."""
    return float(np.mean(crps_losses(means, scale, y)))


def crps_losses(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike) -> np.ndarray:
    """Of each example, the mean CRPS of its outputs: (n,)."""
    m, sigma, target = targeted(means, scale, y)
    error = _mean_distance(target - m, sigma).mean(axis=0)
    flat = m.reshape(len(m), -1), sigma.reshape(len(m), -1)
    return by_example(error.reshape(-1) - _spread(*flat) / 2, len(target))


def quantile_error(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike) -> float:
    """``mean_q | share of targets below the q-quantile - q |`` over q = 1 %, ..., 99 %."""
    return quantile_error_of(*below_quantiles(means, scale, y))


def below_quantiles(
    means: ArrayLike, scale: ArrayLike | float, y: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """How many targets are below each quantile of `LEVELS`, and how many there are in all."""
    below = mixture_cdf(means, scale, y).reshape(-1)
    return np.searchsorted(np.sort(below), LEVELS, side="right"), np.array(len(below))


def quantile_error_of(below: np.ndarray, count: np.ndarray) -> float:
    """From `below_quantiles`."""
    return float(np.mean(np.abs(below / count - LEVELS)))


def pit_histogram(
    means: ArrayLike, scale: ArrayLike | float, y: ArrayLike, bins: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of targets by where they fall in their predictives, and edges of the bins: level if right."""
    if bins < 1:
        raise ValueError(f"bins must be at least 1, but is {bins}.")
    return np.histogram(mixture_cdf(means, scale, y), bins, (0, 1))


def _mean_distance(gap: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """``E |Z|`` of a normal variable with this mean and standard deviation."""
    z = gap / sigma
    return 2 * sigma * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) + gap * (2 * ndtr(z) - 1)


def _spread(m: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """``E |X - X'|`` of mixtures (s, outputs): by pairs of components, or as ``2 integral F (1 - F)``,
    whichever is less work."""
    low, high = (m - REACH * sigma).min(axis=0), (m + REACH * sigma).max(axis=0)
    steps = np.ceil(STEPS_PER_SCALE * (high - low) / sigma.min(axis=0))
    found = np.empty(m.shape[1])
    for j in np.flatnonzero(steps >= len(m)):
        found[j] = _over_pairs(m[:, j], sigma[:, j])
    smooth = np.flatnonzero(steps < len(m))
    smooth = smooth[np.argsort(steps[smooth])]  # those of about as many steps together
    size = max(1, AT_ONCE // len(m))
    for start in range(0, len(smooth), size):
        some = smooth[start : start + size]
        ends = low[some], high[some]
        found[some] = _integrated(m[:, some], sigma[:, some], *ends, int(steps[some].max()))
    return found


def _over_pairs(m: np.ndarray, sigma: np.ndarray) -> float:
    total, size = 0.0, max(1, AT_ONCE // len(m))
    for start in range(0, len(m), size):
        some = slice(start, start + size)
        gap, both = m[some, None] - m, np.hypot(sigma[some, None], sigma)
        total += float(_mean_distance(gap, both).sum())
    return total / len(m) ** 2


def _integrated(
    m: np.ndarray, sigma: np.ndarray, low: np.ndarray, high: np.ndarray, steps: int
) -> np.ndarray:
    grid = np.linspace(low, high, steps + 1)
    below = np.zeros(grid.shape)
    for centre, scale in zip(m, sigma, strict=True):
        below += ndtr((grid - centre) / scale) / len(m)
    return 2 * np.sum(below * (1 - below), axis=0) * (high - low) / steps
