"""Examples cut into chunks of one size, so that memory is set by the chunk and not by the data.

The last chunk is padded by repeating the first example; a mask keeps the padding out of sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Chunks:
    """Arrays with leading axes (chunk, example); mask is 1 for real examples and 0 for padding."""

    x: Any
    y: Any
    mask: Any

    @classmethod
    def cut(cls, x: np.ndarray, y: np.ndarray, size: int, multiple: int = 1) -> Chunks:
        """Chunks of nearly equal size, at most `size` rounded up to a `multiple` of devices."""
        n = len(x)
        count = max(1, math.ceil(n / max(size, multiple)))
        size = math.ceil(math.ceil(n / count) / multiple) * multiple
        mask = (np.arange(count * size) < n).astype(np.float32)

        def shape(array: np.ndarray) -> jax.Array:
            if count * size != n:
                array = np.concatenate([array, np.repeat(array[:1], count * size - n, axis=0)])
            return jnp.asarray(array.reshape(count, size, *array.shape[1:]))

        return cls(shape(x), shape(y), jnp.asarray(mask.reshape(count, size)))

    def rows(self) -> tuple[Any, Any]:
        """x and y with one leading axis over examples, the padding still at the end."""
        return tuple(a.reshape(-1, *a.shape[2:]) for a in (self.x, self.y))  # type: ignore[return-value]
