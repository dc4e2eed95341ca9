"""How far draws are from the density of a posterior, by kernel Stein discrepancies of weights and functions.

Only the gradient of the log density is needed, and no draws of a reference; the discrepancy of a reference is
given as the ceiling.  Functions are compared by random combinations of the predictions at some inputs, with
their derivatives with respect to the weights (see `evaluate.stein`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import evaluate, trees
from symbayes.analyse.bounds import evenly
from symbayes.draws import Draws
from symbayes.engine import Opened, Source, open_run
from symbayes.posterior import Posterior

COMBINATIONS = 8
"""The number of random combinations of predictions; a Jacobian has a row for each."""
INPUTS = 64
JACOBIANS = 2**26
"""The most numbers in all Jacobians of a set of draws; fewer draws are compared if there would be more."""


def stein_discrepancies(
    source: Source, sets: Mapping[str, Draws], total: int, x: np.ndarray | None = None
) -> dict[str, dict[str, float]]:
    """The discrepancy of each set of draws from the density of a run's posterior.

    The bandwidth of all is that of `reference`.  It is given by `weights` and, if there are inputs, by
    `functions`.
    """
    run = open_run(source)
    posterior = run.posterior  # read from its data here, and not within a program
    chosen = {name: _some(draws, total) for name, draws in sets.items()}
    scores = {name: _matrix(_gradients(posterior, some)) for name, some in chosen.items()}
    points = {name: _matrix(some["params"]) for name, some in chosen.items()}
    found = {}
    width = _median_distance(points["reference"])
    if width > 0:
        found["weights"] = {name: evaluate.ksd(points[name], scores[name], width) for name in sets}
    if x is None:
        return found
    fewer = evenly(total, max(2, JACOBIANS // (COMBINATIONS * points["reference"].shape[1])))
    features = _features(run, x[evenly(len(x), INPUTS)])
    seen = {name: features(jax.tree.map(lambda leaf: leaf[fewer], some)) for name, some in chosen.items()}
    width = _median_distance(seen["reference"][0])
    if width > 0:
        found["functions"] = {
            name: evaluate.function_ksd(values, jacobians, scores[name][fewer], width)
            for name, (values, jacobians) in seen.items()
        }
    return found


@jax.jit
def _gradients(posterior: Posterior, some: Any) -> Any:
    return jax.lax.map(posterior.gradient, some)


def _some(draws: Draws, total: int) -> Any:
    """Evenly spaced draws of all chains together."""
    which = evenly(draws.chains * len(draws), total)
    return jax.tree.map(lambda leaf: np.asarray(leaf).reshape(-1, *leaf.shape[2:])[which], draws.variables)


def _matrix(tree: Any) -> np.ndarray:
    return np.asarray(trees.ravel(tree, 1), np.float64)


def _median_distance(points: np.ndarray) -> float:
    squared = evaluate.distances(points).squared
    return float(np.sqrt(np.median(squared[np.triu_indices(len(points), 1)])))


def _features(run: Opened, x: np.ndarray) -> Callable[[Any], tuple[np.ndarray, np.ndarray]]:
    """Of stacked variables, combinations of predictions (n, r), and their Jacobians (n, r, d)."""
    inputs = jnp.asarray(x)
    form = jax.eval_shape(lambda some: run.likelihood.predict(run.network.apply(some, inputs)), run.variables)
    mixing = np.random.default_rng(0).normal(size=(COMBINATIONS, form.size)) / np.sqrt(form.size)

    def features(inputs: jax.Array, variables: Any) -> tuple[jax.Array, jax.Array]:
        def combined(params: Any) -> jax.Array:
            outputs = run.network.apply({**variables, "params": params}, inputs)
            return jnp.asarray(mixing, jnp.float32) @ run.likelihood.predict(outputs).reshape(-1)

        rows = jax.jacrev(combined)(variables["params"])
        return combined(variables["params"]), trees.ravel(rows, 1)

    compiled = jax.jit(lambda some, inputs: jax.lax.map(functools.partial(features, inputs), some))

    def of(some: Any) -> tuple[np.ndarray, np.ndarray]:
        values, jacobians = compiled(some, inputs)
        return np.asarray(values, np.float64), np.asarray(jacobians, np.float64)

    return of
