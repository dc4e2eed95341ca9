"""Convolutions in the form that is quick where gradients are taken, for one network and for many.

Where channels are few a convolution becomes a matrix product (`bands`).  The others stay convolutions; XLA's
CPU backend has quick kernels for those of inputs (n, ..., channels) with kernels (..., inputs, outputs), but
the gradients that JAX makes of them have their axes in other orders, which XLA puts right in the outermost
program only: inside a loop, where methods do their work, they fall back to code that is several times slower
(jax-ml/jax issue 12868).  Here the derivative is written with the axes transposed such that the gradients,
its transposes, have the order that is quick.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import JaxprEqn

from symbayes.posterior.numerics.bands import banded, pooling
from symbayes.posterior.numerics.rewriting import Rules, rewritten

Padding = tuple[tuple[int, int], ...]

FEW = 8
"""Input channels up to which a convolution becomes a matrix product."""


def quick_convolutions(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with its convolutions and its pooling in their quick forms."""
    return rewritten(function, RULES)


def stays_convolution(eqn: Any) -> bool:
    """Whether an equation is a convolution of more than a few channels."""
    if eqn.primitive.name != "conv_general_dilated":
        return False
    return eqn.invars[1].aval.shape[eqn.params["dimension_numbers"].rhs_spec[1]] > FEW


def _convolution(eqn: JaxprEqn, x: jax.Array, kernel: jax.Array) -> Sequence[jax.Array] | None:
    params = eqn.params
    numbers = params["dimension_numbers"]
    undilated = all(d == 1 for d in (*params["lhs_dilation"], *params["rhs_dilation"]))
    grouped = params["feature_group_count"] != 1 or params["batch_group_count"] != 1
    floating = all(jnp.issubdtype(operand.dtype, jnp.floating) for operand in (x, kernel))
    if not undilated or grouped or not floating:
        return None
    banding = x.ndim in (3, 4) and not stays_convolution(eqn)
    if not banding and jax.default_backend() != "cpu":
        return None
    x = jnp.transpose(x, (numbers.lhs_spec[0], *numbers.lhs_spec[2:], numbers.lhs_spec[1]))
    kernel = jnp.transpose(kernel, (*numbers.rhs_spec[2:], numbers.rhs_spec[1], numbers.rhs_spec[0]))
    strides, padding = tuple(params["window_strides"]), tuple(map(tuple, params["padding"]))
    if not banding:
        out = _convolve(strides, padding, x, kernel)
    elif x.ndim == 3:
        out = banded(x[:, None], kernel[None], (1, *strides), ((0, 0), *padding))[:, 0]
    else:
        out = banded(x, kernel, strides, padding)
    order = (numbers.out_spec[0], *numbers.out_spec[2:], numbers.out_spec[1])
    return [jnp.transpose(out, [order.index(axis) for axis in range(out.ndim)])]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _convolve(strides: tuple[int, ...], padding: Padding, x: jax.Array, kernel: jax.Array) -> jax.Array:
    return _with_axes("N_C", "_IO", "N_C", strides, padding, x, kernel)


@_convolve.defjvp
def _derivative(
    strides: tuple[int, ...], padding: Padding, primals: Any, tangents: Any
) -> tuple[jax.Array, jax.Array]:
    (x, kernel), (dx, dkernel) = primals, tangents
    # Its transpose convolves the slope with the kernel, both in the quick order.
    by_input = _with_axes("N_C", "_OI", "N_C", strides, padding, dx, jnp.swapaxes(kernel, -1, -2))
    # Its transpose convolves channels over examples with the slope: (C, ..., N) with (..., N, O).
    by_kernel = _with_axes(
        "C_N", "I_O", "_NC", strides, padding, jnp.swapaxes(x, 0, -1), jnp.moveaxis(dkernel, -2, 0)
    )
    return _convolve(strides, padding, x, kernel), by_input + jnp.moveaxis(by_kernel, -2, 0)


def _with_axes(
    inputs: str, kernels: str, outputs: str, strides: Any, padding: Padding, x: jax.Array, kernel: jax.Array
) -> jax.Array:
    """A convolution whose arrays have their axes in these orders, with ``_`` for the positions."""
    inputs, kernels, outputs = (
        order.replace("_", "DHW"[-len(strides) :]) for order in (inputs, kernels, outputs)
    )
    return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=(inputs, kernels, outputs))


RULES: Rules = {
    "conv_general_dilated": _convolution,
    "reduce_window_max": pooling(jnp.max),
    "reduce_window_sum": pooling(jnp.sum),
}
