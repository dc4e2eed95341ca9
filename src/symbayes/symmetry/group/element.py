"""One element of the group: a permutation for every permuted index, a sign and a log-scale for every free
function.

With ``i`` for an index and ``p`` for its permutation, acting is ``new[i] = factor[i] * old[p[i]]``.  Where
a permutation depends on other indices it has one row for each of their values (row-major, in the order of
`Permutation.over`), and the row is that of the *new* place: ``new[h, d] = old[p(h), q[h](d)]``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from symbayes.pytrees import pytree

Shaped = TypeVar("Shaped", np.ndarray, jax.Array)


@pytree
@dataclass(frozen=True)
class Element:
    """Arrays by name: permutations ``(rows, n)``, signs and log-scales ``(n,)``; a batch of elements has
    leading axes.
    """

    permutations: dict[str, Any]
    signs: dict[str, Any]
    log_scales: dict[str, Any]

    def without_scales(self, log_scales: Mapping[str, Any]) -> Element:
        """This element, and then these log-scales undone place by place: into the scales of a reference."""
        left = {name: log - log_scales[name] for name, log in self.log_scales.items()}
        return dataclasses.replace(self, log_scales=left)


def spread(array: Shaped, places: Sequence[int], rank: int) -> Shaped:
    """An array as one of `rank` axes, with each of its axes at its place."""
    shape = [1] * rank
    for place, size in zip(places, array.shape, strict=True):
        shape[place] = size
    return array.transpose(np.argsort(places)).reshape(shape)


@dataclass(frozen=True)
class Indices:
    """The sizes of all indices by name, and which others each permutation depends on."""

    sizes: Mapping[str, int]
    over: Mapping[str, tuple[str, ...]]

    def shape(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.sizes[name] for name in names)

    def count(self, names: Sequence[str]) -> int:
        return int(np.prod(self.shape(names), dtype=int))

    def spread(self, array: jax.Array, names: Sequence[str], places: Sequence[int], rank: int) -> jax.Array:
        """An array over the named indices as one of `rank` axes, with each index at its place."""
        return spread(jnp.reshape(array, self.shape(names)), places, rank)

    def source(self, element: Element, names: Sequence[str], place: int) -> jax.Array:
        """Where the index at this place comes from, as an array that broadcasts over the named indices."""
        name, rank = names[place], len(names)
        if name not in element.permutations:
            return self.spread(jnp.arange(self.sizes[name]), [name], [place], rank)
        over = self.over[name]
        places = [*(names.index(other) for other in over), place]
        return self.spread(element.permutations[name], [*over, name], places, rank)

    def flat_source(self, element: Element, names: Sequence[str]) -> jax.Array:
        """For every tuple of indices, flattened, the tuple it comes from."""
        flat = jnp.zeros((1,) * len(names), jnp.int32)
        for place, name in enumerate(names):
            flat = flat * self.sizes[name] + self.source(element, names, place)
        return jnp.ravel(jnp.broadcast_to(flat, self.shape(names)))


def compose(indices: Indices, over: Mapping[str, tuple[str, ...]], a: Element, b: Element) -> Element:
    """The element that acts as b, then a; `over` names the indices of each sign and log-scale."""
    permutations = {}
    for name, rows in a.permutations.items():
        origin = indices.flat_source(a, indices.over[name])
        permutations[name] = jnp.take_along_axis(b.permutations[name][origin], rows, axis=-1)
    moved = {name: indices.flat_source(a, names) for name, names in over.items()}
    return Element(
        permutations,
        {name: s * b.signs[name][moved[f"sign/{name}"]] for name, s in a.signs.items()},
        {name: s + b.log_scales[name][moved[f"scale/{name}"]] for name, s in a.log_scales.items()},
    )


def inverse(indices: Indices, over: Mapping[str, tuple[str, ...]], a: Element) -> Element:
    """The element that undoes a."""
    permutations = {}
    for name, rows in a.permutations.items():
        back = jnp.argsort(indices.flat_source(a, indices.over[name]))
        permutations[name] = jnp.argsort(rows, axis=-1)[back].astype(rows.dtype)
    moved = {name: jnp.argsort(indices.flat_source(a, names)) for name, names in over.items()}
    return Element(
        permutations,
        {name: s[moved[f"sign/{name}"]] for name, s in a.signs.items()},
        {name: -s[moved[f"scale/{name}"]] for name, s in a.log_scales.items()},
    )
