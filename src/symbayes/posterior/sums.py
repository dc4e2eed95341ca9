"""Sums whose rounding error does not grow with their length.

An exact accept step needs small differences of large energies.  A float32 sum over a million
terms loses them; here each addition keeps its rounding error (Knuth's two-sum) and the errors
are summed alongside, in one reduction over pairs (sum, error).

Reference: Ogita, Rump & Oishi (2005), Accurate sum and dot product.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def two_sum(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The rounded sum and its rounding error: ``a + b == total + error`` exactly."""
    total = a + b
    virtual_b = total - a
    error = (a - (total - virtual_b)) + (b - virtual_b)
    return total, error


def compensated(*terms: jax.Array) -> jax.Array:
    """The sum of all elements of all arrays, as accurate as if summed in twice the precision."""
    values = jnp.concatenate([jnp.ravel(term) for term in terms])
    zero = jnp.zeros((), values.dtype)

    def add(a: Any, b: Any) -> tuple[jax.Array, jax.Array]:
        total, error = two_sum(a[0], b[0])
        return total, a[1] + b[1] + error

    total, error = jax.lax.reduce((values, jnp.zeros_like(values)), (zero, zero), add, (0,))
    return total + error
