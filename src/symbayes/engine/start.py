"""Where chains begin: fresh variables, given variables, or draws of another run."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.draws import Draws
from symbayes.engine.protocol import chain_keys
from symbayes.posterior import Posterior
from symbayes.specs import require


def start_variables(posterior: Posterior, key: jax.Array, chains: int, start: Any = None) -> Any:
    """Variables with a leading chain axis.

    Nothing given: every chain gets fresh variables.  Draws: chain c takes the last draw of chain
    ``c mod chains``.  Variables: every chain begins there; with a leading axis, each at its own.
    """
    if start is None:
        return fresh_variables(posterior, key, chains)
    if isinstance(start, Draws):
        last = start.select(draws=slice(len(start) - 1, None)).variables
        start = trees.index(last, (np.arange(chains) % start.chains, 0))
    require(
        isinstance(start, Mapping),
        "the start is variables, or draws as in Run('folder').draws, "
        f"not a value of type {type(start).__name__}",
    )
    wanted = trees.shapes(jax.eval_shape(posterior.init, key))
    given = trees.shapes(start)
    require(
        wanted.keys() == given.keys(),
        "the start holds the variables of another network: "
        f"it differs in {', '.join(sorted(wanted.keys() ^ given.keys())[:4])}",
    )
    start = {"stats": {}, **start}
    stacked = {name: (chains, *shape) for name, shape in wanted.items()}
    closest = max((wanted, stacked), key=lambda shapes: sum(shapes[name] == given[name] for name in given))
    for name, shape in given.items():
        require(
            shape == closest[name],
            f"the start has {name} of shape {shape}, but the network's is {closest[name]}",
        )
    if given == stacked:
        return jax.tree.map(jnp.asarray, start)
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (chains, *leaf.shape)), start)


@functools.partial(jax.jit, static_argnames="chains")
def fresh_variables(posterior: Posterior, key: jax.Array, chains: int) -> Any:
    """The network's own initialisation, another one for every chain."""
    return jax.vmap(posterior.init)(chain_keys(key, chains))
