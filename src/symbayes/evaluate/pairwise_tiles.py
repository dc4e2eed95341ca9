"""The sums behind pairwise mutual information, in tiles: blocks of networks by pieces of points.

Terms ``p/2 log2 p + q/2 log2 q - m log2 m`` with ``m = p/2 + q/2`` are taken class by class and then summed,
since the difference of the summed entropies would lose what close networks differ by; their sum is turned
into nats.  Every term is made in few instructions: halves are stored with their own logarithms, no
probability is below the smallest normal number, and the logarithm is a short polynomial.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

CHUNK = 2**28
"""Bytes of probabilities on the device at once."""
SMALLEST = 1e-37
ROOT_HALF = 0x3F3504F3
"""The bits of the square root of a half, in float32."""
LOG2 = (
    1.442695,
    -0.721347333,
    0.48091061,
    -0.360704828,
    0.287918324,
    -0.23892034,
    0.215669859,
    -0.207421035,
    0.126148466,
)
"""Of ``log2(1 + f) / f`` around zero: least squares at Chebyshev places, within 2e-8 of ``log2(1 + f)``."""
BLOCK = {"cpu": 16}
OTHER_BLOCK = 64
TILE = {"cpu": 2**18}
OTHER_TILE = 2**25
"""Numbers in a tile: block by block by piece.  On a CPU they stay in the cache."""


def summed(probs: Any) -> tuple[np.ndarray, float, float]:
    """Summed over points of (networks, points, classes): (networks, networks), the lowest probability, and
    the largest error of their sum over classes.
    """
    networks, points, classes = probs.shape
    backend = jax.default_backend()
    block = min(BLOCK.get(backend, OTHER_BLOCK), networks)
    blocks = -(-networks // block)
    piece = max(1, min(points, TILE.get(backend, OTHER_TILE) // (block * block * classes)))
    pieces = max(1, min(-(-points // piece), CHUNK // (4 * blocks * block * piece * classes)))
    pairs = [(i, j) for i in range(blocks) for j in range(i + 1)]
    total, lowest, error = np.zeros((len(pairs), block, block)), np.inf, 0.0
    for first in range(0, points, pieces * piece):
        some = probs[:, first : first + pieces * piece]
        padded = _padded(jnp.asarray(some, jnp.float32), blocks * block, pieces * piece)
        found = _tiles(padded, np.array(pairs), (block, piece), backend == "cpu")
        part, low, off = (np.asarray(each, np.float64) for each in found)
        total, lowest, error = total + part, np.minimum(lowest, low), np.maximum(error, off)
    square = _square(total, pairs, block)[:networks, :networks]
    return square - np.diag(np.diag(square)), float(lowest), float(error)


def _padded(probs: jax.Array, networks: int, points: int) -> jax.Array:
    """With further networks and points that are sure of the first class, which add nothing."""
    more = networks - probs.shape[0], points - probs.shape[1]
    if more == (0, 0):
        return probs
    padded = jnp.pad(probs, ((0, more[0]), (0, more[1]), (0, 0)))
    padded = padded.at[probs.shape[0] :, :, 0].set(1.0)
    return padded.at[:, probs.shape[1] :, 0].set(1.0)


@functools.partial(jax.jit, static_argnames=("sizes", "by_product"))
def _tiles(probs: jax.Array, pairs: jax.Array, sizes: tuple[int, int], by_product: bool) -> Any:
    """Sums for pairs of blocks, (pairs, block, block)."""
    block, piece = sizes
    classes = probs.shape[-1]
    # (pieces, blocks, block, points x classes)
    tiles = probs.reshape(probs.shape[0] // block, block, -1, piece * classes).transpose(2, 0, 1, 3)
    half = jnp.maximum(tiles, SMALLEST) / 2
    own = half * _log2(2 * half)
    ones = jnp.ones(piece * classes)

    def add(total: jax.Array, tile: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        p, h = tile

        def one(pair: jax.Array) -> jax.Array:
            mixed = p[pair[0]][:, None] + p[pair[1]][None]
            terms = (h[pair[0]][:, None] - mixed * _log2(mixed)) + h[pair[1]][None]
            # A CPU computes logarithms many at a time only where they are not fused with their sum.
            if by_product:
                return jnp.matmul(terms, ones, precision="highest")
            return jnp.sum(terms, -1)

        return total + jax.lax.map(one, pairs), None

    total, _ = jax.lax.scan(add, jnp.zeros((len(pairs), block, block)), (half, own))
    return total * jnp.float32(math.log(2)), jnp.min(probs), jnp.max(jnp.abs(jnp.sum(probs, -1) - 1))


def _log2(x: jax.Array) -> jax.Array:
    """The logarithm of normal positive numbers ``2^k (1 + f)`` with f around zero, by a polynomial in f.

    It is twice as quick on a CPU as the library's, which also serves other numbers.
    """
    bits = jax.lax.bitcast_convert_type(x, jnp.int32)
    k = (bits - ROOT_HALF) >> 23
    f = jax.lax.bitcast_convert_type(bits - (k << 23), jnp.float32) - 1
    series = jnp.float32(LOG2[-1])
    for factor in LOG2[-2::-1]:
        series = series * f + jnp.float32(factor)
    return series * f + k.astype(jnp.float32)


def _square(total: np.ndarray, pairs: list[tuple[int, int]], block: int) -> np.ndarray:
    """Sums of pairs of blocks as one symmetric array."""
    blocks = max(i for i, _ in pairs) + 1
    square = np.zeros((blocks, block, blocks, block))
    for (i, j), part in zip(pairs, total, strict=True):
        square[i, :, j], square[j, :, i] = part, part.T
    return square.reshape(blocks * block, blocks * block)
