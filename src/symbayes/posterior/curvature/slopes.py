"""Slopes of a network's outputs at single examples, each times the root of the likelihood's curvature.

With J the Jacobian of the outputs at one example and S S' the likelihood's second derivative in them, the
rows of ``R = S'J`` make the generalised Gauss-Newton matrix: the sum of R'R over examples.  Of kernels, R is
kept as activations a and slopes g of the product (see `products`): row r of R is the sum of a_t g_rt'.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.networks import Network
from symbayes.posterior.curvature.products import Product, tapped
from symbayes.posterior.likelihoods import Likelihood
from symbayes.posterior.numerics import Chunks
from symbayes.pytrees import pytree

AT_ONCE = 2**24
"""Numbers that are held at once for some examples."""


@pytree
@dataclass(frozen=True)
class Slopes:
    """Of one example, by name of the parameter.

    Attributes:
        activations: of kernels, (position, input).
        outputs: of kernels, slopes in the product's outputs, (row, position, output).
        others: of other parameters, the rows themselves, (row, ...).
    """

    activations: dict[str, Any]
    outputs: dict[str, Any]
    others: dict[str, Any]


def slopes(
    network: Network,
    likelihood: Likelihood,
    variables: Any,
    kernels: dict[str, Product],
    others: tuple[str, ...],
    example: jax.Array,
) -> Slopes:
    """Those of some kernels and other parameters at one example."""
    flat = trees.flatten(variables)

    def function(taps: dict[str, Any], some: dict[str, Any]) -> tuple[jax.Array, dict[str, Any]]:
        changed = trees.like(variables, flat | some)
        outputs, seen = tapped(network, kernels, changed, taps, example[None])
        return outputs[0], seen

    taps = {name: jnp.zeros((one.positions, one.outputs)) for name, one in kernels.items()}
    value, pull, seen = jax.vjp(function, taps, {name: flat[name] for name in others}, has_aux=True)
    of_outputs, of_others = jax.vmap(pull)(rooted(likelihood, value))
    return Slopes(seen, of_outputs, of_others)


def rooted(likelihood: Likelihood, value: jax.Array) -> jax.Array:
    """The columns of S at the outputs of one example, each shaped like them: (row, ..., k)."""
    root = likelihood.curvature_root(value[None])[0]
    places, (outputs, columns) = math.prod(root.shape[:-2]), root.shape[-2:]
    each = root.reshape(places, outputs, columns)
    apart = jnp.einsum("pq,qkc->pcqk", jnp.eye(places), each)
    return apart.reshape(places * columns, *value.shape)


def summed(function: Callable[[jax.Array, jax.Array], Any], chunk: Chunks, numbers: int) -> Any:
    """The sum over a chunk of ``function(x, weight)``, a sum over some examples with these weights; `numbers`
    are in memory for each example."""
    size = chunk.mask.shape[0]
    at_once = max(1, min(size, AT_ONCE // max(1, numbers)))
    padded = -size % at_once

    def groups(array: jax.Array, filling: jax.Array) -> jax.Array:
        array = jnp.concatenate([array, jnp.repeat(filling, padded, axis=0)])
        return array.reshape(-1, at_once, *array.shape[1:])

    def add(total: Any, group: Any) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, function(*group)), None

    x, weight = groups(chunk.x, chunk.x[:1]), groups(chunk.mask, jnp.zeros(1))
    forms = jax.eval_shape(function, x[0], weight[0])
    zeros = jax.tree.map(lambda form: jnp.zeros(form.shape, form.dtype), forms)
    return jax.lax.scan(add, zeros, (x, weight))[0]
