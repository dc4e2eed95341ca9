"""Predictions and scores of networks that are not draws of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol, get_args, runtime_checkable

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
from symbayes.networks import Network, recomputed
from symbayes.posterior import Predictive
from symbayes.posterior.likelihoods import Likelihood, joined
from symbayes.posterior.prediction import predict
from symbayes.specs import require


@runtime_checkable
class Model(Protocol):
    """Predicts with variables: a run, or any network and its likelihood."""

    @property
    def network(self) -> Network: ...

    @property
    def likelihood(self) -> Likelihood: ...


Statistics = Literal["recompute", "interpolate"]
"""Whether statistics of normalisers are computed again on data, or interpolated as weights are."""

PIECE = 2**24
"""The most numbers in the networks that are drawn from a distribution at once."""
ACCURACY = find("accuracy", "classes")
GIVEN: tuple[Need, ...] = ("targets", "reference")
LEFT_OUT = ("Brier", "ECE")
"""Metrics that add little to the others for a compact posterior."""


def with_statistics(
    run: Model, networks: Draws | trees.Tree, train: Examples | None, statistics: Statistics = "recompute"
) -> Any:
    """The same networks with the statistics of their normalisers computed again on training examples.

    The networks stay as they are without examples, without statistics, and with "interpolate".
    """
    require(statistics in get_args(Statistics), f"statistics is recompute or interpolate, not {statistics!r}")
    if train is None or statistics == "interpolate":
        return networks
    if not isinstance(networks, Draws):
        return recomputed(run.network, networks, np.asarray(train.x))
    if not any(name.startswith("stats/") for name in networks.shapes):
        return networks
    x, variables = np.asarray(train.x), networks.variables
    places = np.ndindex(networks.chains, len(networks))
    found = [recomputed(run.network, trees.index(variables, place), x)["stats"] for place in places]
    stats = jax.tree.map(
        lambda *leaves: np.stack(leaves).reshape(networks.chains, len(networks), *leaves[0].shape), *found
    )
    return Draws.from_variables({**variables, "stats": stats}, networks.stats)


def predictive_of(run: Model, networks: Draws | trees.Tree, x: Any) -> Predictive:
    """The predictive of networks that are not the run's own: draws, or the variables of one network."""
    return predict(run.network, run.likelihood, networks, np.asarray(x))


def sampled_predictive(
    run: Opened,
    distribution: Distribution,
    x: Any,
    samples: int,
    train: Examples | None = None,
    statistics: Statistics = "recompute",
) -> Predictive:
    """The predictive of a distribution over weights, from networks drawn from it.

    If training examples are given, statistics of normalisers are computed on them for every network.
    """
    pieces = (with_statistics(run, draws, train, statistics) for draws in _pieces(distribution, samples))
    return joined([predictive_of(run, draws, x) for draws in pieces])


def scores_of_each(run: Model, networks: Draws, examples: Examples) -> dict[str, np.ndarray]:
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
    """The metrics of a compact posterior, and how close it is to the predictive `target`.

    Numbers are in the targets' units before any `scaling`.
    """
    rows = [row for row in chosen(predictive.kind, None, GIVEN) if row.name not in LEFT_OUT]
    return measure(predictive, y, scaling, rows, reference=target)


def _pieces(distribution: Distribution, samples: int) -> Iterator[Draws]:
    size = max(1, PIECE // trees.size(distribution.mean))
    for first in range(0, samples, size):
        yield distribution.draws(jax.random.key(0), min(size, samples - first), first)
