"""How well a model predicts points that it was not given, from draws given all points: PSIS-LOO and WAIC.

With draws ``w_s`` and the pointwise log likelihoods ``l_{si} = log p(y_i | w_s)``, leaving point ``i`` out
weights draw ``s`` by ``1 / p(y_i | w_s)``.  PSIS (Vehtari, Simpson, Gelman, Yao and Gabry 2024) replaces the
``M`` largest weights of a point by quantiles of a generalised Pareto distribution fitted to them (Zhang and
Stephens 2009, with a weak prior on its shape ``k``), and truncates at the largest raw weight.  The
estimate for a point is reliable where its shape ``k`` is at most 0.7.  With the normalised smoothed weights
``W_{si}``,

    elpd_loo = sum_i log sum_s W_{si} p(y_i | w_s)
    elpd_waic = sum_i (log mean_s p(y_i | w_s) - var_s l_{si})

(Watanabe 2010).  Both are sums over points, in nats, and higher is better.  The difference of two models on
the same points has the standard error of its pointwise differences.  The effective number of parameters
is reported with either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from symbayes.evaluate.inputs import finite

TRUSTED = 0.7
FEWEST_IN_TAIL = 5
AT_ONCE = 2**22
"""Numbers that are smoothed at once."""


@dataclass(frozen=True)
class LeaveOneOut:
    """The expected log predictive density of every point (n,), and of each the shape k (nan for WAIC).

    Attributes:
        pointwise: the terms of `elpd`.
        parameters: the effective number of parameters.
        shapes: Pareto's k of every point.
    """

    pointwise: np.ndarray
    parameters: float
    shapes: np.ndarray

    @property
    def elpd(self) -> float:
        return float(self.pointwise.sum())

    @property
    def error(self) -> float:
        """The standard error of `elpd`, of points that are drawn independently."""
        return float(np.sqrt(len(self.pointwise) * np.var(self.pointwise)))

    @property
    def doubtful(self) -> float:
        """The share of points whose weights are not to be trusted, k above 0.7."""
        return float(np.mean(self.shapes > TRUSTED))

    def minus(self, other: LeaveOneOut) -> tuple[float, float]:
        """The difference of two models on the same points, and its standard error."""
        if self.pointwise.shape != other.pointwise.shape:
            raise ValueError(
                f"models are compared on the same points, not {len(self.pointwise)} "
                f"and {len(other.pointwise)}."
            )
        apart = LeaveOneOut(self.pointwise - other.pointwise, 0.0, self.shapes)
        return apart.elpd, apart.error


def loo(log_likelihood: ArrayLike, efficiency: float = 1.0) -> LeaveOneOut:
    """PSIS-LOO from (chain, draw, n); `efficiency`, effective draws per draw, sets the length of the tail."""
    values = _pointwise(log_likelihood)
    if not efficiency > 0:
        raise ValueError(f"efficiency is a positive share of effective draws, not {efficiency}.")
    step = max(1, AT_ONCE // len(values))
    pointwise, shapes = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for first in range(0, values.shape[1], step):
        some = slice(first, first + step)
        weights, shapes[some] = smoothed(-values[:, some], efficiency)
        pointwise[some] = logsumexp(values[:, some] + weights, axis=0)
    return LeaveOneOut(pointwise, float(np.sum(_predictive(values) - pointwise)), shapes)


def waic(log_likelihood: ArrayLike) -> LeaveOneOut:
    """The widely applicable information criterion from (chain, draw, n), as an expected log density."""
    values = _pointwise(log_likelihood)
    spread = np.var(values, axis=0, ddof=1)
    pointwise = _predictive(values) - spread
    return LeaveOneOut(pointwise, float(spread.sum()), np.full(len(spread), np.nan))


def smoothed(log_weights: np.ndarray, efficiency: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Normalised log weights (draws, n) with Pareto-smoothed tails, and the shapes k; inf without a tail."""
    draws = len(log_weights)
    long = draws * efficiency > 225
    tail = int(3 * np.sqrt(draws / efficiency)) if long else draws // 5
    weights = log_weights - log_weights.max(axis=0)
    shapes = np.full(weights.shape[1], np.inf)
    if FEWEST_IN_TAIL <= tail < draws:
        order = np.argsort(weights, axis=0)
        largest = order[-tail:]
        over = np.take_along_axis(weights, largest, 0)
        cutoff = np.exp(np.take_along_axis(weights, order[-tail - 1 : -tail], 0))
        excess = np.exp(over) - cutoff
        differ = excess[-1] > 0
        shapes[~differ] = -np.inf  # all weights of the tail are equal: nothing to smooth
        if differ.any():
            k, scale = fit_pareto(np.where(excess > 0, excess, np.finfo(float).tiny)[:, differ])
            places = (np.arange(tail) + 0.5)[:, None] / tail
            quantiles = cutoff[:, differ] + scale * np.expm1(-k * np.log1p(-places)) / k
            over[:, differ] = np.minimum(np.log(quantiles), 0)
            shapes[differ] = k
        np.put_along_axis(weights, largest, over, 0)
    return weights - logsumexp(weights, axis=0), shapes


def fit_pareto(excess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shape k and scale of generalised Pareto laws for sorted positive values (m, n), column by column."""
    count = len(excess)
    grid = 30 + int(np.sqrt(count))
    spaced = 1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = spaced[:, None] / (3 * excess[int(count / 4 + 0.5) - 1]) + 1 / excess[-1]
    k = np.stack([np.log1p(-row * excess).mean(axis=0) for row in b])
    log_weights = count * (np.log(-b / k) - k - 1)
    weights = np.exp(log_weights - logsumexp(log_weights, axis=0))
    weights = np.where(weights >= 10 * np.finfo(float).eps, weights, 0)
    middle = np.sum(b * weights, axis=0) / weights.sum(axis=0)
    shape = np.log1p(-middle * excess).mean(axis=0)
    return (count * shape + 5) / (count + 10), -shape / middle


def _pointwise(log_likelihood: ArrayLike) -> np.ndarray:
    values = finite(log_likelihood, "log_likelihood")
    if values.ndim < 3 or values.shape[0] * values.shape[1] < 2:
        raise ValueError(
            f"log_likelihood is (chain, draw, n) with two draws or more, but has shape {values.shape}."
        )
    return values.reshape(values.shape[0] * values.shape[1], -1)


def _predictive(values: np.ndarray) -> np.ndarray:
    return logsumexp(values, axis=0) - np.log(len(values))
