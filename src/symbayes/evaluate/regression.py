"""How good real-valued predictions are, where the predictive is an equal mixture of normals.

With means ``m_{sij}`` and standard deviations ``sigma_{sij}`` of draw ``s`` of ``S``, point ``i`` and output
``j``, the density of a point and the distribution function of an output are

    p(y_i) = 1/S sum_s product_j N(y_{ij}; m_{sij}, sigma_{sij}^2)
    F(y_{ij}) = 1/S sum_s Phi((y_{ij} - m_{sij}) / sigma_{sij})

NLL is the mean over points of ``- log p(y_i)``.  The coverage is the share of targets with
``|F(y_{ij}) - 1/2|`` at most half the level.  RMSE is that of the mean over draws.

Means have shape (s, n, d): draws, points, outputs; `scale` is a standard deviation that broadcasts to them;
targets have shape (n, d).  Outputs with positions are (s, n, ..., d) with targets (n, ..., d): every position
of every example counts as a point.  Coverage and quantiles treat each output separately; densities are
those of all outputs of a point jointly.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, ndtr, ndtri

from symbayes.evaluate.inputs import by_example, finite
from symbayes.specs import require_probability

LEVEL = 0.9
"""Probability of the intervals whose coverage and width are computed."""
BISECTIONS = 60
"""Halvings of an interval: what is left of it is rounding."""


def rmse(mean: ArrayLike, y: ArrayLike) -> float:
    """Root of the mean squared error over all entries; `mean` and `y` have the same shape."""
    return float(np.sqrt(np.mean(squared_errors(mean, y))))


def squared_errors(mean: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Of each example, the mean squared error of its entries: (n,)."""
    predicted, target = finite(mean, "mean"), finite(y, "y")
    if predicted.shape != target.shape or predicted.ndim == 0:
        raise ValueError(
            f"mean and y must have one shape (n, ...), but have {predicted.shape} and {target.shape}."
        )
    return by_example((predicted - target) ** 2, len(target))


def mixture_log_density(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike) -> np.ndarray:
    """The log density of every point, ``log 1/S sum_s prod_j N(y_ij; m_sij, scale^2)``: (n, ...), in nats."""
    m, sigma, target = targeted(means, scale, y)
    log_density = -0.5 * ((target - m) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
    return np.asarray(logsumexp(log_density.sum(axis=-1), axis=0) - np.log(m.shape[0]))


def mixture_nll(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike) -> float:
    """Mean negative log likelihood of the points in nats: minus the mean of `mixture_log_density`."""
    return float(np.mean(mixture_losses(means, scale, y)))


def mixture_losses(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike) -> np.ndarray:
    """Of each example, the mean negative log density of its points: (n,), in nats."""
    each = -mixture_log_density(means, scale, y)
    return by_example(each, len(each))


def mixture_cdf(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike) -> np.ndarray:
    """The probability of a value below the target, ``1/S sum_s Phi((y - m_s) / scale)``: (n, ..., d).

    Over points that the predictive describes well it is uniform (the probability integral transform).
    """
    m, sigma, target = targeted(means, scale, y)
    return ndtr((target - m) / sigma).mean(axis=0)


def coverage(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike, level: float = LEVEL) -> float:
    """Share of targets in the central interval that has probability `level`; calibrated is `level` itself.

    The interval runs from the mixture's (1 - level) / 2 quantile to its (1 + level) / 2 quantile.
    """
    return float(np.mean(covered(means, scale, y, level)))


def covered(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike, level: float = LEVEL) -> np.ndarray:
    """Of each example, the share of its targets in the central interval: (n,)."""
    require_probability(level=level)
    inside = np.abs(mixture_cdf(means, scale, y) - 0.5) <= level / 2
    return by_example(inside, len(inside))


def width(means: ArrayLike, scale: ArrayLike | float, level: float = LEVEL) -> float:
    """Mean width of the central interval that has probability `level`, in the units of the targets."""
    return float(np.mean(widths(means, scale, level)))


def widths(means: ArrayLike, scale: ArrayLike | float, level: float = LEVEL) -> np.ndarray:
    """Of each example, the mean width of its central intervals: (n,)."""
    require_probability(level=level)
    low, high = (mixture_quantile(means, scale, (1 + side * level) / 2) for side in (-1, 1))
    return by_example(high - low, len(low))


def mixture_quantile(means: ArrayLike, scale: ArrayLike | float, q: float) -> np.ndarray:
    """The value below which the mixture has probability `q`, for each output: (n, ..., d).

    By bisection between the smallest and the largest of the components' own quantiles.
    """
    require_probability(q=q)
    m, sigma = mixture(means, scale)
    each = m + sigma * ndtri(q)
    low, high = each.min(axis=0), each.max(axis=0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = ndtr((middle - m) / sigma).mean(axis=0) < q
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def mixture(
    means: ArrayLike, scale: ArrayLike | float, names: tuple[str, str] = ("means", "scale")
) -> tuple[np.ndarray, np.ndarray]:
    """Means (s, n, ..., d) and as many standard deviations, after checking them."""
    m, sigma = finite(means, names[0]), finite(scale, names[1])
    if m.ndim < 3:
        raise ValueError(
            f"{names[0]} must have shape (s, n, d), or (s, n, ..., d) with positions, not shape {m.shape}."
        )
    if (sigma <= 0).any():
        raise ValueError(f"{names[1]} must be positive: it is a standard deviation.")
    try:
        return m, np.broadcast_to(sigma, m.shape)
    except ValueError:
        raise ValueError(
            f"{names[1]} of shape {sigma.shape} does not broadcast to {names[0]} {m.shape}."
        ) from None


def targeted(
    means: ArrayLike, scale: ArrayLike | float, y: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means and standard deviations (s, n, ..., d), and targets (n, ..., d), after checking them."""
    m, sigma = mixture(means, scale)
    target = finite(y, "y")
    if target.shape != m.shape[1:]:
        raise ValueError(f"y must have shape {m.shape[1:]} to match means, but has shape {target.shape}.")
    return m, sigma, target
