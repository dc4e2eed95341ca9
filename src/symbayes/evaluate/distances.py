"""Distances between all points of two sets, in tiles: ``|x - y|^2`` and ``|x - y|_1`` in one pass.

Differences are taken before they are squared and summed.  The Gram form ``|x|^2 + |y|^2 - 2 <x, y>`` would
be cheaper for the first alone, but loses in float32 what close draws of one chain differ by, and the second
needs the differences in any case.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import finite

ROWS = 32
"""Points of either set in a tile."""
COLUMNS = 512
"""Coordinates at a time."""


@dataclass(frozen=True)
class Distances:
    """Between n and m points: squared Euclidean, and absolute (L1), each (n, m) in float64.

    Both are sums over coordinates, so that those of several layers together are the sum of theirs.
    """

    squared: np.ndarray
    absolute: np.ndarray

    def __add__(self, other: Distances) -> Distances:
        return Distances(self.squared + other.squared, self.absolute + other.absolute)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> Distances:
        """Between some of the points."""
        where = np.ix_(rows, columns)
        return Distances(self.squared[where], self.absolute[where])


def distances(x: ArrayLike, y: ArrayLike | None = None) -> Distances:
    """Between all rows of (n, d) and (m, d), or of one set alone."""
    first = points(x, "x")
    second = first if y is None else points(y, "y")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"x and y have shapes {first.shape} and {second.shape}: give both the same coordinates."
        )
    found = np.zeros((2, len(first), len(second)))
    for start in range(0, len(first), ROWS):
        rows = _padded(first[start : start + ROWS])
        # Of one set alone both halves are the same.
        for other in range(start if y is None else 0, len(second), ROWS):
            tile = np.asarray(_tile(rows, _padded(second[other : other + ROWS])), np.float64)
            here = slice(start, start + ROWS), slice(other, other + ROWS)
            found[:, here[0], here[1]] = tile[:, : len(first) - start, : len(second) - other]
            if y is None:
                found[:, here[1], here[0]] = found[:, here[0], here[1]].transpose(0, 2, 1)
    return Distances(*found)


def points(x: ArrayLike, name: str) -> np.ndarray:
    """`x` in float32 after checking that it has finite rows of coordinates."""
    array = finite(x, name).astype(np.float32)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape (points, coordinates), not {array.shape}.")
    return array


def _padded(rows: np.ndarray) -> np.ndarray:
    more = ROWS - len(rows), -rows.shape[1] % COLUMNS
    return rows if more == (0, 0) else np.pad(rows, ((0, more[0]), (0, more[1])))


def _tile(rows: np.ndarray, columns: np.ndarray) -> Any:
    return _compiled()(rows, columns)


@functools.cache
def _compiled() -> Any:
    import jax  # here alone, so that the rest of this room needs NumPy only
    import jax.numpy as jnp

    @jax.jit
    def tile(x: jax.Array, y: jax.Array) -> jax.Array:
        def add(total: jax.Array, pair: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            difference = pair[0][:, None] - pair[1][None]
            ones = jnp.ones(COLUMNS)
            sums = [jnp.matmul(d, ones, precision="highest") for d in (difference**2, jnp.abs(difference))]
            return total + jnp.stack(sums), None

        pieces = [a.reshape(ROWS, -1, COLUMNS).swapaxes(0, 1) for a in (x, y)]
        return jax.lax.scan(add, jnp.zeros((2, ROWS, ROWS)), (pieces[0], pieces[1]))[0]

    return tile
