"""What networks predict, and how good it is: the one place here that knows the kinds of predictives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from symbayes import evaluate, trees
from symbayes.data import Examples, Scaling
from symbayes.distributions import Distribution
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.posterior import CategoricalPredictive, GaussianPredictive, Predictive
from symbayes.posterior.prediction import predict

PIECE = 2**24
"""Numbers in the networks that are drawn from a distribution at once."""
LEVEL = 0.9
"""Probability of the intervals whose coverage is told."""


def predictive_of(run: Opened, networks: Draws | trees.Tree, x: Any) -> Predictive:
    """What other networks than those of the run predict: draws, or the variables of one."""
    return predict(run.network, run.likelihood, networks, np.asarray(x))


def sampled_predictive(run: Opened, distribution: Distribution, x: Any, samples: int) -> Predictive:
    """The predictive of a distribution over weights, from exactly so many networks drawn from it."""
    return _joined([predictive_of(run, draws, x) for draws in _pieces(distribution, samples)])


def scores_of_each(run: Opened, networks: Draws, examples: Examples) -> dict[str, np.ndarray]:
    """The mean loss (nats per example) and, for classes, the accuracy of every network by itself."""
    predictive, y = predictive_of(run, networks, examples.x), np.asarray(examples.y)
    if isinstance(predictive, GaussianPredictive):
        each = zip(*predictive.components, strict=True)
        return {"loss": np.array([evaluate.mixture_nll(m[None], noise[None], y) for m, noise in each])}
    each = predictive.probs.reshape(-1, *predictive.probs.shape[2:])
    return {
        "loss": np.array([evaluate.nll(probs, y) for probs in each]),
        "accuracy": np.array([evaluate.accuracy(probs, y) for probs in each]),
    }


def scores(
    predictive: Predictive, target: Predictive, y: np.ndarray, scaling: Scaling | None
) -> dict[str, float]:
    """How good a compact posterior is, and how close to a `target`.

    Numbers are in the targets' units before any `scaling`.
    """
    if isinstance(predictive, GaussianPredictive):
        means, noise = predictive.components
        if scaling is not None:
            means, noise, y = scaling.undo(means), noise * scaling.scale, scaling.undo(y)
        return {
            "RMSE": evaluate.rmse(means.mean(axis=0, dtype=np.float64), y),
            "NLL": evaluate.mixture_nll(means, noise, y),
            "coverage": evaluate.coverage(means, noise, y, LEVEL),
        }
    return {
        "accuracy": evaluate.accuracy(predictive.mean, y),
        "NLL": evaluate.nll(predictive.mean, y),
        "agreement": evaluate.agreement(predictive.mean, target.mean),
        "TV": evaluate.total_variation(predictive.mean, target.mean),
    }


def _pieces(distribution: Distribution, samples: int) -> Iterator[Draws]:
    size = max(1, PIECE // trees.size(distribution.mean))
    for first in range(0, samples, size):
        yield distribution.draws(jax.random.key(0), min(size, samples - first), first)


def _joined(parts: Sequence[Predictive]) -> Predictive:
    if isinstance(parts[0], GaussianPredictive):
        normal = [part for part in parts if isinstance(part, GaussianPredictive)]
        means, noise = (np.concatenate([part.components[i] for part in normal])[None] for i in range(2))
        return GaussianPredictive(means, noise)
    probs = [part.probs for part in parts if isinstance(part, CategoricalPredictive)]
    return CategoricalPredictive(np.concatenate(probs, axis=1))
