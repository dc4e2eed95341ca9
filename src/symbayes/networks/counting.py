"""What a network takes for one example, counted in its program: operations, and bytes of its products."""

from __future__ import annotations

import math
from typing import Any

from jax.extend.core import Jaxpr
from jax.typing import DTypeLike

from symbayes.networks.network import Network
from symbayes.networks.traced import equations, traced

PRODUCTS = ("dot_general", "conv_general_dilated")

GRADIENT = 3
"""A gradient takes the forward pass, and twice as much for the derivatives of inputs and of weights."""


def operations(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike) -> float:
    """Operations of the forward pass for one example."""
    _, program = traced(network, example_shape, dtype)
    return count(program.jaxpr)


def gradient_operations(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike) -> float:
    """Operations of a gradient for one example."""
    return GRADIENT * operations(network, example_shape, dtype)


def product_bytes(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike) -> int:
    """What the products of the forward pass give for one example, with four bytes per number."""
    _, program = traced(network, example_shape, dtype)
    return sum(
        4 * times * math.prod(out.aval.shape)
        for equation, times in equations(program.jaxpr)
        if equation.primitive.name in PRODUCTS
        for out in equation.outvars
    )


def count(program: Jaxpr) -> float:
    """Multiplications and additions of products, and one operation per number of all else."""
    return sum(
        times * _each(equation) * math.prod(out.aval.shape)
        for equation, times in equations(program)
        for out in equation.outvars
    )


def _each(equation: Any) -> float:
    """Operations per number that a primitive gives."""
    if equation.primitive.name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        return 2.0 * math.prod(equation.invars[0].aval.shape[axis] for axis in contracted)
    if equation.primitive.name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        return 2 * math.prod(kernel) / kernel[equation.params["dimension_numbers"].rhs_spec[0]]
    return 1.0
