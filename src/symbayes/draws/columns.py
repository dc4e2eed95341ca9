"""Some of many weights or predictions, chosen at random, the same every time."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from symbayes.draws.draws import Draws


def some_columns(values: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the last axis, chosen at random, the same every time."""
    count = values.shape[-1]
    if count <= most:
        return values
    return values[..., np.sort(np.random.default_rng(0).permutation(count)[:most])]


def some_weights(draws: Draws, most: int) -> Float[np.ndarray, "chain draw weight"]:
    """All draws of at most so many parameters, chosen at random; statistics of normalisers do not count."""
    sizes = {name: int(np.prod(s)) for name, s in draws.shapes.items() if not name.startswith("stats/")}
    total = sum(sizes.values())
    chosen = np.sort(np.random.default_rng(0).permutation(total)[:most])
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    parts = []
    for name, rows, values in draws.columns():
        if name not in sizes:
            continue
        flat = values.reshape(*values.shape[:2], -1)
        row = sizes[name] // max(1, (draws.shapes[name] or (1,))[0])
        first = starts[name] + rows.start * row
        here = chosen[(chosen >= first) & (chosen < first + flat.shape[-1])] - first
        parts.append(flat[..., here])
    return np.concatenate(parts, axis=-1)
