"""Convolutions as matrix products, and pooling as reshaping: quick for many networks at once.

Under vmap over networks a convolution becomes a grouped one, which devices do badly; a matrix product becomes
a batched one, which they do well.  A convolution of images x with a kernel k is, for every row of the output,

    out[row] = [x[row], x[row + 1], ...] @ band(k)

where band(k) holds the kernel once for each of some neighbouring output columns, shifted by one position each
(a banded Toeplitz matrix).  One column is the well-known im2col, which copies every number as often as the
kernel is large; all columns of a row copy it as often as the kernel is high, and multiply by zeros instead,
which a matrix unit has to spare where channels are few.

A maximum over windows that do not overlap is the maximum over an axis of the reshaped image.  Its derivative
is element-wise, where that of a window is a scatter.  (Equal maxima share the derivative; behind a window the
first one has it.)

Reference: Chellapilla, Puri & Simard (2006), High performance convolutional neural networks for document
processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import JaxprEqn

from symbayes.posterior.numerics.rewriting import Rule

COLUMNS = 160
"""Columns of the matrix product that are aimed at: output columns times channels."""


def banded(
    x: jax.Array, kernel: jax.Array, strides: Sequence[int], padding: Sequence[tuple[int, int]]
) -> jax.Array:
    """The convolution of images (n, height, width, inputs) with a kernel (height, width, inputs, outputs)."""
    high, wide, inputs, outputs = kernel.shape
    down, along = strides
    x = lax.pad(x, jnp.zeros((), x.dtype), ((0, 0, 0), *((*pad, 0) for pad in padding), (0, 0, 0)))
    rows, columns = (
        (size - k) // s + 1 for size, k, s in zip(x.shape[1:3], (high, wide), strides, strict=True)
    )
    tiles = max(1, round(columns * outputs / COLUMNS))
    tile = math.ceil(columns / tiles)
    span = (tile - 1) * along + wide
    surplus = (tiles * tile - 1) * along + wide - x.shape[2]
    x = lax.pad(x, jnp.zeros((), x.dtype), ((0, 0, 0), (0, 0, 0), (0, surplus, 0), (0, 0, 0)))
    cut = [
        x[:, i : i + (rows - 1) * down + 1 : down, t * tile * along : t * tile * along + span]
        for t in range(tiles)
        for i in range(high)
    ]
    windows = jnp.stack(cut, axis=2).reshape(len(x) * rows * tiles, high * span * inputs)
    band = [
        jnp.pad(kernel, ((0, 0), (j * along, span - wide - j * along), (0, 0), (0, 0))) for j in range(tile)
    ]
    product = windows @ jnp.stack(band, axis=3).reshape(high * span * inputs, tile * outputs)
    return product.reshape(len(x), rows, tiles * tile, outputs)[:, :, :columns]


def pooling(over: Callable[..., jax.Array]) -> Rule:
    """The rule for pooling over windows that do not overlap."""

    def pool(eqn: JaxprEqn, x: jax.Array) -> Sequence[jax.Array] | None:
        params = eqn.params
        window = params["window_dimensions"]
        apart = window == params["window_strides"] and not any(map(any, params["padding"]))
        dilated = any(d != 1 for d in (*params["base_dilation"], *params["window_dilation"]))
        if not apart or dilated:
            return None
        sizes = [size // w for size, w in zip(x.shape, window, strict=True)]
        x = x[tuple(slice(n * w) for n, w in zip(sizes, window, strict=True))]
        split = x.reshape([part for n, w in zip(sizes, window, strict=True) for part in (n, w)])
        return [over(split, axis=tuple(range(1, 2 * x.ndim, 2)))]

    return pool
