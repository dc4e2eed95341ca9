"""Examples cut into chunks of one size, so that memory is set by the chunk and not by the data.

The last chunk is padded by repeating the first example; a mask keeps the padding out of sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from symbayes.pytrees import pytree

ROWS = 256
"""Rows of which the chunks of an accelerator have a multiple, where that adds less than `PADDING`.

A product that sums over examples is computed in equal parts there.  Where the rows do not divide, activations
are copied to be padded.  On an H200 a gradient of 784-512-10 over 60,000 images takes 0.63 ms instead of 0.67
in tf32.
"""
PADDING = 0.01


@pytree
@dataclass(frozen=True)
class Chunks:
    """Arrays with leading axes (chunk, example); mask is 1 for real examples and 0 for padding.

    Where it is asked for, `number` tells which example it is.
    """

    x: Any
    y: Any
    mask: Any
    number: Any = None

    @classmethod
    def cut(
        cls, x: np.ndarray, y: np.ndarray, size: int, multiple: int = 1, *, numbered: bool = False
    ) -> Chunks:
        """Chunks of nearly equal size, at most `size` rounded up to a `multiple` of devices."""
        n = len(x)
        count, size = _layout(n, size, multiple)
        mask = (np.arange(count * size) < n).astype(np.float32)

        def shape(array: np.ndarray) -> jax.Array:
            if count * size != n:
                array = np.concatenate([array, np.repeat(array[:1], count * size - n, axis=0)])
            return _placed(array.reshape(count, size, *array.shape[1:]))

        number = np.arange(count * size, dtype=np.int32).reshape(count, size)
        own = _placed(number) if numbered else None
        return cls(shape(x), shape(y), _placed(mask.reshape(count, size)), own)

    @classmethod
    def spread(cls, x: np.ndarray, y: np.ndarray, size: int, mesh: Mesh, *, numbered: bool = False) -> Chunks:
        """The same chunks over a mesh's data axis.

        Every device is given its own rows of each chunk, and of an array on disk no others are read.
        """
        n = len(x)
        count, size = _layout(n, size, mesh.shape["data"])
        over_data = NamedSharding(mesh, PartitionSpec(None, "data"))

        def place(array: np.ndarray) -> jax.Array:
            def part(index: Any) -> np.ndarray:
                return _columns(array, count, size, *index[1].indices(size)[:2])

            # Types as one device would have them: without 64 bits where JAX has none.
            dtype = jax.dtypes.canonicalize_dtype(array.dtype)
            shape = (count, size, *array.shape[1:])
            return jax.make_array_from_callback(shape, over_data, lambda index: part(index).astype(dtype))

        numbers = np.arange(count * size, dtype=np.int32).reshape(count, size)

        def placed(array: np.ndarray) -> jax.Array:
            return jax.make_array_from_callback((count, size), over_data, lambda index: array[index])

        own = placed(numbers) if numbered else None
        return cls(place(x), place(y), placed((numbers < n).astype(np.float32)), own)

    def rows(self) -> tuple[Any, Any]:
        """x and y with one leading axis over examples, the padding still at the end."""
        return tuple(a.reshape(-1, *a.shape[2:]) for a in (self.x, self.y))  # type: ignore[return-value]


def _placed(array: np.ndarray) -> jax.Array:
    """A copy on the device, for which `jnp.asarray` would compile a program for every shape."""
    return jax.device_put(array, may_alias=False)


def _layout(n: int, size: int, multiple: int) -> tuple[int, int]:
    """How many chunks, and their size; how many does not depend on the devices, as a run's state does not."""
    count = max(1, math.ceil(n / size))
    each = math.ceil(math.ceil(n / count) / multiple)
    padded = math.ceil(each / ROWS) * ROWS
    if jax.default_backend() != "cpu" and padded <= (1 + PADDING) * each:
        each = padded
    return count, each * multiple


def _columns(array: np.ndarray, count: int, size: int, begin: int, end: int) -> np.ndarray:
    """Of every chunk the examples from `begin` to `end`."""
    made = np.empty((count, end - begin, *array.shape[1:]), array.dtype)
    for number in range(count):
        rows = array[number * size + begin : min(number * size + end, len(array))]
        made[number, : len(rows)] = rows
        if len(rows) < end - begin:
            made[number, len(rows) :] = array[:1]
    return made
