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
from symbayes.trees import Array

Shaped = TypeVar("Shaped", np.ndarray, jax.Array)


def module_of(arrays: Any) -> Any:
    """The module whose functions take these arrays: NumPy on the host, where small things compile nothing, or
    JAX inside compiled programs.
    """
    return jnp if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(arrays)) else np


@pytree
@dataclass(frozen=True)
class Element:
    """Arrays by name: permutations ``(rows, n)``, signs and log-scales ``(n,)``; a batch of elements has
    leading axes.
    """

    permutations: dict[str, Array]
    signs: dict[str, Array]
    log_scales: dict[str, Array]

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes of a batch of elements; none for one."""
        for part, own in ((self.permutations, 2), (self.signs, 1), (self.log_scales, 1)):
            for leaf in part.values():
                return tuple(leaf.shape[: leaf.ndim - own])
        return ()

    def without_scales(self, log_scales: Mapping[str, Array]) -> Element:
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

    def spread(
        self, array: Any, names: Sequence[str], places: Sequence[int], lead: tuple[int, ...], rank: int
    ):
        """An array over the named indices as one of `rank` axes, with each index at its place; leading axes
        stay.
        """
        n = len(lead)
        array = array.reshape(*lead, *self.shape(names))
        return spread(array, [*range(n), *(n + place for place in places)], n + rank)

    def source(self, element: Element, names: Sequence[str], place: int) -> Any:
        """Where the index at this place comes from, as an array that broadcasts over the named indices."""
        name, rank = names[place], len(names)
        if name not in element.permutations:
            return self.spread(np.arange(self.sizes[name]), [name], [place], (), rank)
        over = self.over[name]
        places = [*(names.index(other) for other in over), place]
        return self.spread(element.permutations[name], [*over, name], places, element.lead, rank)

    def flat_source(self, element: Element, names: Sequence[str]) -> Any:
        """For every tuple of indices, flattened, the tuple it comes from."""
        flat = np.zeros((1,) * len(names), np.int32)
        for place, name in enumerate(names):
            flat = flat * self.sizes[name] + self.source(element, names, place)
        return self.flattened(flat, element.lead, names)

    def flattened(self, array: Any, lead: tuple[int, ...], names: Sequence[str]) -> Any:
        """An array that broadcasts over the named indices, with these as one axis."""
        whole = module_of(array).broadcast_to(array, (*lead, *self.shape(names)))
        return whole.reshape(*lead, self.count(names))


def compose(indices: Indices, over: Mapping[str, tuple[str, ...]], a: Element, b: Element) -> Element:
    """The element that acts as b, then a; `over` names the indices of each sign and log-scale."""
    take = module_of((a, b)).take_along_axis
    permutations = {}
    for name, rows in a.permutations.items():
        origin = indices.flat_source(a, indices.over[name])
        permutations[name] = take(take(b.permutations[name], origin[..., None], axis=-2), rows, axis=-1)
    moved = {name: indices.flat_source(a, names) for name, names in over.items()}
    return Element(
        permutations,
        {name: s * take(b.signs[name], moved[f"sign/{name}"], axis=-1) for name, s in a.signs.items()},
        {
            name: s + take(b.log_scales[name], moved[f"scale/{name}"], axis=-1)
            for name, s in a.log_scales.items()
        },
    )


def inverse(indices: Indices, over: Mapping[str, tuple[str, ...]], a: Element) -> Element:
    """The element that undoes a."""
    module = module_of(a)
    take, argsort = module.take_along_axis, module.argsort
    permutations = {}
    for name, rows in a.permutations.items():
        back = argsort(indices.flat_source(a, indices.over[name]), axis=-1)
        permutations[name] = take(argsort(rows, axis=-1), back[..., None], axis=-2).astype(rows.dtype)
    moved = {name: argsort(indices.flat_source(a, names), axis=-1) for name, names in over.items()}
    return Element(
        permutations,
        {name: take(s, moved[f"sign/{name}"], axis=-1) for name, s in a.signs.items()},
        {name: -take(s, moved[f"scale/{name}"], axis=-1) for name, s in a.log_scales.items()},
    )
