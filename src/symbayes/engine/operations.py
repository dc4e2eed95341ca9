"""How many operations a network takes for one example, counted in its program."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
from jax.extend.core import Jaxpr, jaxprs_in_params

from symbayes.networks import Network

GRADIENT = 3
"""A gradient takes the forward pass, and twice as much for the derivatives of inputs and of weights."""


@functools.lru_cache
def gradient_operations(network: Network, example_shape: tuple[int, ...], dtype: Any) -> float:
    """Operations of a gradient for one example."""
    example = jax.ShapeDtypeStruct((1, *example_shape), dtype)
    variables = jax.eval_shape(network.init, jax.random.key(0), example)
    return GRADIENT * count(jax.make_jaxpr(network.apply)(variables, example).jaxpr)


def count(jaxpr: Jaxpr) -> float:
    """Multiplications and additions of products, and one operation per number of all else."""
    total = 0.0
    equation: Any
    for equation in jaxpr.eqns:
        inner = sum(count(sub) for sub in jaxprs_in_params(equation.params))
        if inner:
            total += inner * equation.params.get("length", 1)
        else:
            numbers = sum(math.prod(out.aval.shape) for out in equation.outvars)
            total += numbers * _each(equation)
    return total


def _each(equation: Any) -> float:
    """Operations per number that a primitive gives."""
    if equation.primitive.name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        return 2.0 * math.prod(equation.invars[0].aval.shape[axis] for axis in contracted)
    if equation.primitive.name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        return 2 * math.prod(kernel) / kernel[equation.params["dimension_numbers"].rhs_spec[0]]
    return 1.0
