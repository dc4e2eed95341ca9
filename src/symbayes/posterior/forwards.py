"""The forward passes that draws may ask for, as compiled programs take them; `draws/forward.py` names them.

A linearised network is ``f(m, x) + J(m, x) (w - m)``: one Jacobian-vector product for each draw.  In closed
form its outputs are normal with mean ``f(m, x)`` and variances ``diag(J S J')``, for a distribution of the
weights with mean m and covariance S, and the likelihood says what follows for targets.

References: Immer, Korzepa & Bauer (2021), Improving predictions of Bayesian neural nets via local
linearization; MacKay (1992), The evidence framework applied to classification networks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.distributions import Distribution, from_arrays
from symbayes.draws import Draws
from symbayes.draws.forward import FITTED, Kind
from symbayes.networks import Network
from symbayes.posterior.likelihoods import Likelihood
from symbayes.posterior.numerics import quick_convolutions
from symbayes.pytrees import pytree
from symbayes.specs import require

JACOBIANS = 2**24
"""Numbers in the Jacobians that are held at once."""


@pytree
@dataclass(frozen=True)
class Passes:
    """How stacked draws predict: the kind, and what it needs beside their variables.

    Attributes:
        kind: of the forward pass.
        law: the distributions fitted to the chains, leaves with a leading axis over chains; or None.
        keys: of the draws, as plain data (chain, draw, ...); or None.
    """

    kind: Kind = field(default="plain", metadata={"static": True})
    law: Any = None
    keys: Any = None

    @classmethod
    def of(cls, draws: Draws) -> Passes:
        """What these draws ask for; those of a block are in memory."""
        forward = draws.forward
        law, keys = None, None
        if forward.kind in FITTED:
            require(bool(forward.law), "these draws do not have the distribution that they predict with")
            law = from_arrays(forward.law)
        if forward.kind == "keyed":
            require("key" in draws.stats, "these draws have lost their keys, which they predict with")
            keys = draws.stats["key"]
        return cls(forward.kind, law, keys)

    def flat(self, chains: int, count: int) -> tuple[Any, np.ndarray]:
        """Of every draw, chain after chain: its key, and the number of its chain."""
        keys = None if self.keys is None else self.keys.reshape(chains * count, *self.keys.shape[2:])
        return keys, np.repeat(np.arange(chains), count)


def predicting(likelihood: Likelihood, kind: Kind) -> Likelihood:
    """The likelihood whose outputs a forward pass of this kind gives."""
    return likelihood.marginals if kind == "closed-form" else likelihood


def outputs(
    network: Network, likelihood: Likelihood, passes: Passes, one: tuple[Any, Any, Any], x: Any
) -> jax.Array:
    """What one draw gives at `x`: outputs for the likelihood that `predicting` gives.

    `one` has its variables, its key and the number of its chain.
    """
    variables, key, chain = one
    if passes.kind == "plain":
        return network.apply(variables, x)
    if passes.kind == "keyed":
        return network.apply(variables, x, jax.random.wrap_key_data(key))
    law = trees.index(passes.law, chain)
    if passes.kind == "linearised":
        return linearised(network, law.mean, variables, x)
    return likelihood.marginal(*output_moments(network, law, x))


def linearised(network: Network, mean: Any, variables: Any, x: Any) -> jax.Array:
    """``f(m, x) + J(m, x) (w - m)``; statistics of normalisers are those of m."""

    def function(params: Any) -> jax.Array:
        return network.apply({**mean, "params": params}, x)

    params = mean["params"]
    away = jax.tree.map(jnp.subtract, variables["params"], params)
    value, slope = jax.jvp(function, (params,), (away,))
    return value + slope


def output_moments(network: Network, law: Distribution, x: Any) -> tuple[jax.Array, jax.Array]:
    """Mean and variance of every output of the linearised network, each (n, ..., k); a few examples at a
    time."""
    mean, varying = law.mean, law.varying
    flat, apply = trees.flatten(mean), quick_convolutions(network.apply)

    def function(some: Any, example: jax.Array) -> jax.Array:
        return apply(trees.like(mean, flat | trees.flatten(some)), example[None])[0]

    def moments(example: jax.Array) -> tuple[jax.Array, jax.Array]:
        value = function(varying, example)
        slopes = jax.jacrev(function)(varying, example)
        rows = jax.tree.map(lambda leaf: leaf.reshape(value.size, *leaf.shape[value.ndim :]), slopes)
        return value, law.variances(rows).reshape(value.shape)

    outputs = jax.eval_shape(function, varying, x[0]).size
    at_once = max(1, min(len(x), JACOBIANS // (trees.size(varying) * outputs)))
    return jax.lax.map(moments, x, batch_size=at_once)


def outputs_for(apply: Callable[[Any, jax.Array], jax.Array], first: Any, x: Any) -> jax.ShapeDtypeStruct:
    """The form of what a network gives for one of the inputs; those of another form than it takes are
    refused.

    `first` is the other argument of `apply`: variables, or a key to make some.
    """
    try:
        return jax.eval_shape(apply, first, x[:1])
    except (TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"the network cannot be computed for inputs of shape {(1, *x.shape[1:])}, one example: {reason}"
        ) from error
