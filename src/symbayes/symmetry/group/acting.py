"""Many networks moved at once, one parameter at a time, at about the cost of copying it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

Moves = Sequence[tuple[tuple[int, ...], np.ndarray | None, np.ndarray | None]]
"""Groups of axes, each with an index vector and a factor vector per network (or None)."""


def in_place(axes: Sequence[int]) -> bool:
    """Whether some axes of a contiguous array can be seen as one without a copy."""
    return len(axes) > 0 and list(axes) == list(range(axes[0], axes[-1] + 1))


def act_rows(leaves: np.ndarray, moves: Moves) -> np.ndarray:
    """A parameter of many networks, first axis, each moved by its own vectors.

    Every move is one take and one product on one network, written where the next reads it: to and fro between
    the result and a scratch array that stays in the processor's cache.
    """
    leaves = np.ascontiguousarray(leaves)
    found = np.empty_like(leaves)
    work = [(axes, vectors) for axes, *vectors in moves]

    def some(numbers: range) -> None:
        scratch = np.empty_like(leaves[0])
        for k in numbers:
            source = leaves[k]
            for left, (axes, (index, factor)) in zip(range(len(work) - 1, -1, -1), work, strict=True):
                target = scratch if left % 2 else found[k]
                _move(_as_one(source, axes), _as_one(target, axes), _row(index, k), _row(factor, k))
                source = target

    with ThreadPoolExecutor() as threads:
        list(threads.map(some, _shares(len(leaves), 8)))
    return found


def act_batch(leaves: np.ndarray, moves: Moves) -> np.ndarray:
    """The same all at once: for small parameters, and for axes that do not lie side by side."""
    for axes, index, factor in moves:
        places = [axis + 1 for axis in axes]
        front = np.moveaxis(leaves, places, range(1, len(places) + 1))
        flat = front.reshape(len(front), math.prod(front.shape[1 : len(places) + 1]), -1)
        if index is not None:
            flat = np.take_along_axis(flat, index[:, :, None], axis=1)
        if factor is not None:
            flat = flat * factor.astype(leaves.dtype)[:, :, None]
        leaves = np.moveaxis(flat.reshape(front.shape), range(1, len(places) + 1), places)
    return np.ascontiguousarray(leaves)


def _move(
    source: np.ndarray, target: np.ndarray, index: np.ndarray | None, factor: np.ndarray | None
) -> None:
    """``target[:, i] = factor[i] * source[:, index[i]]``."""
    if index is not None:
        # Clipping does nothing to an index in range; without it NumPy takes into a buffer of its own.
        np.take(source, index, axis=1, out=target, mode="clip")
    elif factor is None:
        target[...] = source
    if factor is not None:
        factor = factor.astype(source.dtype)[None, :, None]
        np.multiply(source if index is None else target, factor, out=target)


def _as_one(array: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """A view (before, axes, after)."""
    before = int(np.prod(array.shape[: axes[0]], dtype=int))
    return array.reshape(before, int(np.prod(array.shape[axes[0] : axes[-1] + 1], dtype=int)), -1)


def _row(vectors: np.ndarray | None, k: int) -> np.ndarray | None:
    return None if vectors is None else vectors[k]


def _shares(count: int, parts: int) -> Iterator[range]:
    edges = [count * part // parts for part in range(parts + 1)]
    return (range(a, b) for a, b in itertools.pairwise(edges) if a < b)
