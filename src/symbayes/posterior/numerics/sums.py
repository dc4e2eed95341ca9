"""Sums whose rounding error does not grow with their length.

An exact accept step needs small differences of large energies.  A float32 sum over a million
terms loses them; here each addition keeps its rounding error (Knuth's two-sum) and the errors
are summed alongside, in a reduction over pairs (sum, error).

Reference: Ogita, Rump & Oishi (2005), Accurate sum and dot product.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

ROWS = 32


def two_sum(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The rounded sum and its rounding error: ``a + b == total + error`` exactly."""
    total = a + b
    virtual_b = total - a
    error = (a - (total - virtual_b)) + (b - virtual_b)
    return total, error


def compensated(*terms: jax.Array) -> jax.Array:
    """The sum of all elements of all arrays, as accurate as if summed in twice the precision."""
    return _sum(jnp.concatenate([jnp.ravel(term) for term in terms]))


@jax.custom_jvp
def _sum(values: jax.Array) -> jax.Array:
    errors = jnp.zeros_like(values)
    while values.size > 1:
        # A few rows and many columns at a time: many short sums side by side keep a device busy.
        columns = -(-values.size // ROWS)
        values, errors = (
            jnp.pad(part, (0, ROWS * columns - part.size)).reshape(ROWS, columns) for part in (values, errors)
        )
        values, errors = _sum_first_axis(values, errors)
    return jnp.sum(values) + jnp.sum(errors)


@_sum.defjvp
def _sum_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    """A sum is linear, and its derivative needs no compensation."""
    return _sum(*primals), jnp.sum(*tangents)


def _sum_first_axis(values: jax.Array, errors: jax.Array) -> tuple[jax.Array, jax.Array]:
    def add(a: Any, b: Any) -> tuple[jax.Array, jax.Array]:
        total, error = two_sum(a[0], b[0])
        return total, a[1] + b[1] + error

    zero = jnp.zeros((), values.dtype)
    total, error = jax.lax.reduce((values, errors), (zero, zero), add, (0,))
    return total, error
