"""Probabilities changed by a linear map of their logarithms, fitted to validation labels.

    q = softmax(A log p + b)

The maps differ in their free parameters:

    temperature:    A = I / T,        b = 0        (Guo et al. 2017)
    vector:         A diagonal,       b free       (Guo et al. 2017)
    Dirichlet:      A free,           b free       (Kull et al. 2019)

The logarithms of a single network's probabilities are its logits but for a constant, which changes nothing in
the first; of many draws the mean probabilities are taken, so that the whole predictive is calibrated and not
each draw (Rahaman and Thiery 2021: Uncertainty quantification and deep ensembles).  The fit is convex.  A
penalty ``r/2 (|A - I|^2 + |b|^2)`` with a small ``r``, a tenth of it on the diagonal of Dirichlet scaling,
keeps the last two finite where labels can be predicted without error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, softmax

from symbayes.evaluate.inputs import labelled, probabilities
from symbayes.evaluate.predictions import SMALLEST_PROBABILITY

COLDEST, HOTTEST = 1e-2, 1e2
"""Temperatures that are tried; where every label is the most probable class, the coldest is found."""
HALVINGS = 60
PENALTY = 1e-3


@dataclass(frozen=True)
class TemperatureScaling:
    """``q = softmax(log p / temperature)``: below 1 predictions become surer, above 1 less sure."""

    temperature: float

    @classmethod
    def fit(cls, probs: ArrayLike, y: ArrayLike) -> TemperatureScaling:
        """The temperature with the highest likelihood of the labels; the slope falls, so halving finds it."""
        p, labels = labelled(probs, y)
        logs = _logs(p)
        own = logs[np.arange(len(labels)), labels].mean()
        low, high = np.log(1 / HOTTEST), np.log(1 / COLDEST)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            slope = own - np.sum(softmax(np.exp(middle) * logs, axis=1) * logs, axis=1).mean()
            low, high = (middle, high) if slope > 0 else (low, middle)
        return cls(float(np.exp(-(low + high) / 2)))

    def apply(self, probs: ArrayLike) -> np.ndarray:
        """Probabilities (..., k), changed."""
        return softmax(_logs(probabilities(probs)) / self.temperature, axis=-1)

    @property
    def words(self) -> str:
        return f"temperature {self.temperature:.3g}"


@dataclass(frozen=True, eq=False)
class VectorScaling:
    """``q = softmax(weights * log p + bias)``, both (k,)."""

    weights: np.ndarray
    bias: np.ndarray

    @classmethod
    def fit(cls, probs: ArrayLike, y: ArrayLike, penalty: float = PENALTY) -> VectorScaling:
        """The weights and bias with the highest likelihood of the labels, less the penalty."""
        p, labels = labelled(probs, y)
        logs, k = _logs(p), p.shape[1]

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            weights, bias = theta[:k], theta[k:]
            loss, slope = _loss(weights * logs + bias, labels)
            gap = np.concatenate([weights - 1, bias])
            gradient = np.concatenate([np.sum(slope * logs, axis=0), slope.sum(axis=0)])
            return loss + penalty / 2 * float(gap @ gap), gradient + penalty * gap

        theta = _minimised(objective, np.concatenate([np.ones(k), np.zeros(k)]))
        return cls(theta[:k], theta[k:])

    def apply(self, probs: ArrayLike) -> np.ndarray:
        """Probabilities (..., k), changed."""
        logs = _logs(_of_classes(probs, len(self.bias)))
        return softmax(self.weights * logs + self.bias, axis=-1)

    @property
    def words(self) -> str:
        return f"weights from {self.weights.min():.3g} to {self.weights.max():.3g}"


@dataclass(frozen=True, eq=False)
class DirichletScaling:
    """``q = softmax(matrix log p + bias)``, (k, k) and (k,)."""

    matrix: np.ndarray
    bias: np.ndarray

    @classmethod
    def fit(cls, probs: ArrayLike, y: ArrayLike, penalty: float = PENALTY) -> DirichletScaling:
        """The matrix and bias with the highest likelihood of the labels, less the penalty."""
        p, labels = labelled(probs, y)
        logs, k = _logs(p), p.shape[1]
        hold = np.concatenate(
            [np.where(np.eye(k, dtype=bool), penalty / 10, penalty).ravel(), np.full(k, penalty)]
        )
        start = np.concatenate([np.eye(k).ravel(), np.zeros(k)])

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            matrix, bias = theta[: k * k].reshape(k, k), theta[k * k :]
            loss, slope = _loss(logs @ matrix.T + bias, labels)
            gradient = np.concatenate([(slope.T @ logs).ravel(), slope.sum(axis=0)])
            gap = theta - start
            return loss + np.sum(hold * gap**2) / 2, gradient + hold * gap

        theta = _minimised(objective, start)
        return cls(theta[: k * k].reshape(k, k), theta[k * k :])

    def apply(self, probs: ArrayLike) -> np.ndarray:
        """Probabilities (..., k), changed."""
        return softmax(_logs(_of_classes(probs, len(self.bias))) @ self.matrix.T + self.bias, axis=-1)

    @property
    def words(self) -> str:
        return f"diagonal from {self.matrix.diagonal().min():.3g} to {self.matrix.diagonal().max():.3g}"


def _logs(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, SMALLEST_PROBABILITY))


def _of_classes(probs: ArrayLike, k: int) -> np.ndarray:
    p = probabilities(probs)
    if p.shape[-1] != k:
        raise ValueError(f"probs has {p.shape[-1]} classes, but this was fitted to {k}.")
    return p


def _loss(logits: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean negative log likelihood, and its gradient with respect to the logits."""
    logs, each = log_softmax(logits, axis=1), np.arange(len(labels))
    slope = np.exp(logs)
    slope[each, labels] -= 1
    return float(-logs[each, labels].mean()), slope / len(labels)


def _minimised(objective: object, start: np.ndarray) -> np.ndarray:
    from scipy.optimize import minimize

    return minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "gtol": 1e-7}).x
