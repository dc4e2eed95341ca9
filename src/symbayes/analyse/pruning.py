"""The accuracy of the mean network with few of its weights, by the order in which weights are removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from symbayes import trees
from symbayes.analyse.predictions import scores_of_each, with_statistics
from symbayes.data import Examples
from symbayes.distributions import Gaussian, keep_largest, prune
from symbayes.draws import Draws
from symbayes.engine import Opened, Source, open_run
from symbayes.trees import Tree

SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02)

Curve = tuple[np.ndarray, np.ndarray]


def pruned_accuracy(
    source: Source, gaussian: Gaussian, draw: Tree, test: Examples, train: Examples | None = None
) -> dict[str, Curve]:
    """Accuracy against the share of weights that are kept.

    Weights of the mean network are kept by sigma, by |mean|/sigma or by size, and those of one draw by size.

    Statistics of normalisers are computed again on the training examples, if these are given.
    """
    run = open_run(source)
    rules: Mapping[str, Callable[[float], Any]] = {
        "mean, by |mean|/sigma": lambda keep: prune(gaussian, keep, by="signal"),
        "mean, by sigma": lambda keep: prune(gaussian, keep, by="sigma"),
        "mean, by size": lambda keep: keep_largest(gaussian.mean, keep),
        "one draw, by size": lambda keep: keep_largest(draw, keep),
    }
    return {name: _curve(run, rule, test, train) for name, rule in rules.items()}


def _curve(run: Opened, rule: Callable[[float], Any], test: Examples, train: Examples | None) -> Curve:
    flat = [trees.flatten(rule(keep)) for keep in SHARES]
    stacked = trees.unflatten({name: np.stack([one[name] for one in flat])[:, None] for name in flat[0]})
    networks = with_statistics(run, Draws.from_variables(stacked), train)
    return np.array(SHARES), scores_of_each(run, networks, test)["accuracy"]
