"""The statistics of normalisers, computed again on data for weights that were never trained.

Between two networks, or at their mean, running statistics are not those of the weights there: interpolating
them makes a barrier of its own (Jordan et al. 2023, REPAIR).  As after averaging weights (Izmailov et al.
2018) they are computed again: the mean over mini-batches of each batch's own statistics.

A batch's own statistics b come out of training, which gives ``m old + (1 - m) b`` for the running ones: from
old = 0 and old = 1 follow the momentum m and b, whatever the layer is called.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.networks.network import Network, Variables
from symbayes.specs import require

BATCH = 250
"""Examples in a mini-batch."""


def has_statistics(variables: Variables) -> bool:
    """Whether some normaliser keeps running statistics."""
    return bool(jax.tree.leaves(variables.get("stats", {})))


def recomputed(network: Network, variables: Variables, x: Any, *, batch: int = BATCH) -> Variables:
    """The same weights with the statistics that the inputs `x` have there.

    What does not fill a mini-batch is dropped, unless it is all.  Without statistics, variables come back as
    they are.
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
    def updated(old: float) -> Any:
        stats = jax.tree.map(lambda leaf: jnp.full_like(leaf, old), variables["stats"])
        return network.apply_train({**variables, "stats": stats}, x, key)[1]

    def own(low: jax.Array, high: jax.Array, old: jax.Array) -> jax.Array:
        # The momentum is one number for a layer, and most exact where the statistics are small.
        kept = (high - low).ravel()[jnp.argmin(jnp.abs(low))]
        moves = kept < 1
        return jnp.where(moves, low / jnp.where(moves, 1 - kept, 1.0), old)

    low, high = updated(0.0), updated(1.0)
    return trees.like(
        variables["stats"],
        {
            name: own(leaf, trees.flatten(high)[name], trees.flatten(variables["stats"])[name])
            for name, leaf in trees.flatten(low).items()
        },
    )
