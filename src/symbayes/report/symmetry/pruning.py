"""How few weights the mean network can do with, by what they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from symbayes import evaluate, trees
from symbayes.compact import Gaussian
from symbayes.data import Examples
from symbayes.draws import Draws
from symbayes.report.symmetry.subject import Subject

SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02)

Curve = tuple[np.ndarray, np.ndarray]


def pruned_accuracy(subject: Subject, gaussian: Gaussian, draw: Any, test: Examples) -> dict[str, Curve]:
    """Accuracy against the share of weights kept: of the mean by sigma, by |mean|/sigma and by size, and of
    one draw by size.
    """
    rules: Mapping[str, Callable[[float], Any]] = {
        "mean, by |mean|/sigma": lambda keep: gaussian.prune(keep, by="signal"),
        "mean, by sigma": lambda keep: gaussian.prune(keep, by="sigma"),
        "mean, by size": lambda keep: largest(gaussian.mean, keep),
        "one draw, by size": lambda keep: largest(draw, keep),
    }
    return {name: _curve(subject, rule, test) for name, rule in rules.items()}


def _curve(subject: Subject, rule: Callable[[float], Any], test: Examples) -> Curve:
    flat = [trees.flatten(rule(keep)) for keep in SHARES]
    stacked = trees.unflatten({name: np.stack([one[name] for one in flat])[:, None] for name in flat[0]})
    predictive, y = subject.predict(Draws.from_variables(stacked), test.x), np.asarray(test.y)
    return np.array(SHARES), np.array([evaluate.accuracy(one.mean, y) for one in predictive.singles()])


def largest(variables: Any, keep: float) -> dict[str, Any]:
    """The network with all but the share `keep` of its weights, the largest in size, set to zero."""
    flat = {name: np.asarray(leaf) for name, leaf in trees.flatten(variables).items()}
    weights = [name for name in flat if not name.startswith("stats/")]
    sizes = np.concatenate([np.abs(flat[name]).ravel() for name in weights])
    kept = np.zeros(sizes.size, bool)
    kept[np.argsort(-sizes, kind="stable")[: round(keep * sizes.size)]] = True
    ends = np.cumsum([flat[name].size for name in weights])
    for name, part in zip(weights, np.split(kept, ends[:-1]), strict=True):
        flat[name] = np.where(part.reshape(flat[name].shape), flat[name], 0)
    tree = trees.unflatten(flat)
    return {**tree, "stats": tree.get("stats", {})}
