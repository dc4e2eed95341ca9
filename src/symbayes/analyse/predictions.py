"""What networks other than a run's own predict, and how good it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from symbayes import trees
from symbayes.analyse.compare import measure
from symbayes.data import Examples, Scaling
from symbayes.distributions import Distribution
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.evaluate.metric import Need
from symbayes.evaluate.metrics import chosen, find
from symbayes.posterior import Predictive
from symbayes.posterior.likelihoods import joined
from symbayes.posterior.prediction import predict

PIECE = 2**24
"""Numbers in the networks that are drawn from a distribution at once."""
ACCURACY = find("accuracy", "classes")
GIVEN: tuple[Need, ...] = ("targets", "reference")
LEFT_OUT = ("Brier", "ECE")
"""Metrics that say little about a compact posterior beside the others."""


def predictive_of(run: Opened, networks: Draws | trees.Tree, x: Any) -> Predictive:
    """What other networks than those of the run predict: draws, or the variables of one."""
    return predict(run.network, run.likelihood, networks, np.asarray(x))


def sampled_predictive(run: Opened, distribution: Distribution, x: Any, samples: int) -> Predictive:
    """The predictive of a distribution over weights, from exactly so many networks drawn from it."""
    return joined([predictive_of(run, draws, x) for draws in _pieces(distribution, samples)])


def scores_of_each(run: Opened, networks: Draws, examples: Examples) -> dict[str, np.ndarray]:
    """The mean loss (nats per example) and, for classes, the accuracy of every network by itself."""
    predictive, y = predictive_of(run, networks, examples.x), np.asarray(examples.y)
    singles = list(predictive.singles())
    found = {"loss": np.array([one.losses(y).mean() for one in singles])}
    if predictive.kind in ACCURACY.kinds:
        found["accuracy"] = np.array([ACCURACY.of(one, y) for one in singles])
    return found


def scores(
    predictive: Predictive, target: Predictive, y: np.ndarray, scaling: Scaling | None
) -> dict[str, float]:
    """How good a compact posterior is, and how close to a `target`.

    Numbers are in the targets' units before any `scaling`.
    """
    rows = [row for row in chosen(predictive.kind, None, GIVEN) if row.name not in LEFT_OUT]
    return measure(predictive, y, scaling, rows, reference=target)


def _pieces(distribution: Distribution, samples: int) -> Iterator[Draws]:
    size = max(1, PIECE // trees.size(distribution.mean))
    for first in range(0, samples, size):
        yield distribution.draws(jax.random.key(0), min(size, samples - first), first)
