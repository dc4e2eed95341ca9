"""Convolution whose gradients are quick on CPUs too.

XLA's CPU backend has quick kernels for convolutions of inputs (n, ..., channels) with kernels
(..., inputs, outputs).  The gradients that JAX makes of them have their axes in other orders, which XLA
puts right in the outermost program only: inside a loop, where methods do their work, they fall back to
code that is several times slower (jax-ml/jax issue 12868).  Here the derivative is written with the axes
transposed such that the gradients, its transposes, have the order that is quick.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax

Padding = str | tuple[tuple[int, int], ...]


def convolution(x: jax.Array, kernel: jax.Array, strides: Any, padding: Any, **settings: Any) -> jax.Array:
    """Stands in for `jax.lax.conv_general_dilated` in ``nnx.Conv``; dilated or grouped ones go there."""
    plain = all(d == 1 for name in ("lhs_dilation", "rhs_dilation") for d in settings[name])
    if jax.default_backend() != "cpu" or not plain or settings["feature_group_count"] != 1:
        return lax.conv_general_dilated(x, kernel, strides, padding, **settings)
    padding = padding if isinstance(padding, str) else tuple(map(tuple, padding))
    return _convolve(tuple(strides), padding, x, kernel)


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


Conv = functools.partial(nnx.Conv, conv_general_dilated=convolution)
"""A layer that convolves in this way."""
