"""The statistics of normalisers, computed again on data for weights that were never trained.

Between two networks, or at their mean, running statistics are not those of the weights there: interpolating
them makes a barrier of its own (Jordan et al. 2023, REPAIR).  As after averaging weights (Izmailov et al.
2018) they are computed again: the mean over mini-batches of each batch's own statistics.

A batch's own statistics b come out of training, which gives ``m old + (1 - m) b`` for the running ones: from
old = 0 and old = 1 follow the momentum m and b, whatever the layer is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.networks.network import Network
from symbayes.specs import require
from symbayes.trees import Array, Variables

ApplyTrain = Callable[[Variables, jax.Array, jax.Array], tuple[jax.Array, Any]]
"""A network in training: outputs, and updated statistics."""

BATCH = 250
"""Examples in a mini-batch."""


def has_statistics(variables: Variables) -> bool:
    """Whether some normaliser keeps running statistics."""
    return bool(jax.tree.leaves(variables.get("stats", {})))


def recomputed(network: Network, variables: Variables, x: Array, *, batch: int = BATCH) -> Variables:
    """The same weights with statistics of normalisers computed from the inputs `x`.

    Inputs that do not fill the last mini-batch are dropped, unless there are no others.  Variables without
    statistics are returned unchanged.
    """
    if not has_statistics(variables):
        return variables
    require(len(x) > 1, f"statistics are computed on at least two examples, not {len(x)}")
    size = min(batch, len(x))
    batches = len(x) // size
    total: Any = None
    for number in range(batches):
        some = jnp.asarray(x[number * size : (number + 1) * size])
        found = _batch_statistics(network, variables, some, jax.random.key(number))
        found = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), found)
        total = found if total is None else jax.tree.map(np.add, total, found)
    means = jax.tree.map(lambda leaf, old: (leaf / batches).astype(old.dtype), total, variables["stats"])
    return {**variables, "stats": means}


@functools.partial(jax.jit, static_argnames="network")
def _batch_statistics(network: Network, variables: Variables, x: jax.Array, key: jax.Array) -> Any:
    momenta = momenta_of(network.apply_train, variables, x, key)
    return batch_statistics(network.apply_train, variables, x, key, momenta)


def momenta_of(apply_train: ApplyTrain, variables: Variables, x: jax.Array, key: jax.Array) -> Any:
    """What share of its old value each of the running statistics keeps in training."""
    low, high = (_updated(apply_train, variables, x, key, old) for old in (0.0, 1.0))
    # One number for a layer, and most exact where the statistics are small.
    return jax.tree.map(lambda a, b: (b - a).ravel()[jnp.argmin(jnp.abs(a))], low, high)


def batch_statistics(
    apply_train: ApplyTrain, variables: Variables, x: jax.Array, key: jax.Array, momenta: Any
) -> Any:
    """The statistics that a mini-batch has by itself; of those that never change, the ones that are there."""

    def own(low: jax.Array, kept: jax.Array, old: jax.Array) -> jax.Array:
        moves = kept < 1
        return jnp.where(moves, low / jnp.where(moves, 1 - kept, 1.0), old)

    return jax.tree.map(own, _updated(apply_train, variables, x, key, 0.0), momenta, variables["stats"])


def _updated(apply_train: ApplyTrain, variables: Variables, x: jax.Array, key: jax.Array, old: float) -> Any:
    """The running statistics after a mini-batch, all of which were `old` before it."""
    stats = jax.tree.map(lambda leaf: jnp.full_like(leaf, old), variables["stats"])
    found = apply_train({**variables, "stats": stats}, x, key)[1]
    return trees.like(variables["stats"], trees.flatten(found))
