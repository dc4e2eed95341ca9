"""Masks over the units of a network: members that each use some of them.

The units of a layer are what can be reordered without changing the network's function.  The symmetries found
in the network's program determine which entries of which parameters belong to a unit, also across flattening
and residual connections.  Member ``m`` keeps the units for which its masks ``b_m`` are one.  Entry ``i`` of a
parameter, which belongs to the units ``u_1(i), u_2(i), ...`` along its axes, becomes

    w_{m,i} = c w_i b_m(u_1(i)) b_m(u_2(i)) ...

so units that a member does not keep neither receive nor send anything.  The gain ``c`` of a parameter is one,
unless members are to begin as networks of their own size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.methods.phases.sharing import Family, along, repeated
from symbayes.symmetry import Symmetry
from symbayes.trees import Array

Masks = dict[str, Any]
"""A mask over the units of each layer, by the layer's name."""
Vectors = dict[str, list[Any]]
"""For each axis of an array, by the array's name, a vector along it, or None."""


@dataclass(frozen=True)
class Layer:
    """A layer, its number of units, and how many of them a member keeps at most."""

    name: str
    units: int
    kept: int


@dataclass(frozen=True)
class Place:
    """Part of an axis that runs over units: entries ``offset + sum_k stride_k i_k`` of an axis of the array
    with this path and shape, and which of the indices i_k count units of which layer."""

    path: str
    shape: tuple[int, ...]
    axis: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    layers: tuple[str | None, ...]

    def entries(self) -> np.ndarray:
        grids = np.meshgrid(*(np.arange(size) for size in self.sizes), indexing="ij")
        return self.offset + np.sum([s * grid for s, grid in zip(self.strides, grids, strict=True)], axis=0)

    def factor(self, masks: Masks) -> Array:
        """The factor by which the entries are multiplied."""
        made: Array = np.ones(self.sizes, np.float32)
        for k, layer in enumerate(self.layers):
            if layer is not None:
                made = made * along(masks[layer], k, len(self.sizes))
        return made


@dataclass(frozen=True)
class Masked(Family):
    """Members with masks over the units of each layer.

    Attributes:
        layers: the layers that have masks.
        places: the places of units in parameters and statistics.
        masks: random, each keeping equally many units; or disjoint, with an equal share for each member,
            which then also has its own copy of parameters that belong to no unit.
        gains: those of parameters that have one other than one, by name.
    """

    layers: tuple[Layer, ...]
    places: tuple[Place, ...]
    masks: Literal["random", "disjoint"]
    gains: tuple[tuple[str, float], ...] = ()

    def own(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        masked = {place.path for place in self.places}
        flat = trees.flatten(params, "params")
        rest = {name.removeprefix("params/"): leaf for name, leaf in flat.items() if name not in masked}
        return repeated(rest, members) if self.masks == "disjoint" else {}

    def fixed(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        return {
            layer.name: _random(jax.random.fold_in(key, number), members, layer)
            if self.masks == "random"
            else _disjoint(members, layer.units)
            for number, layer in enumerate(self.layers)
        }

    def amplified(self, shared: Any) -> dict[str, Any]:
        """What members share, times the gains, by name."""
        flat = trees.flatten(shared)
        return flat | {name: gain * flat[name] for name, gain in self.gains}

    def vectors(self, masks: Masks) -> Vectors:
        """What multiplies the entries of parameters and statistics along their axes."""
        made: Vectors = {}
        for place in self.places:
            axes = made.setdefault(place.path, [None] * len(place.shape))
            vector = axes[place.axis]
            vector = jnp.ones(place.shape[place.axis]) if vector is None else vector
            axes[place.axis] = vector.at[place.entries()].set(place.factor(masks))
        return made

    def member(self, shared: Any, own: Any, fixed: Any) -> Any:
        flat, vectors = self.amplified(shared) | own, self.vectors(fixed)
        for name, leaf in flat.items():
            for axis, vector in enumerate(vectors.get(f"params/{name}", ())):
                if vector is not None:
                    flat[name] = flat[name] * along(vector, axis, leaf.ndim)
        return trees.like(shared, flat)


def _random(key: jax.Array, members: int, layer: Layer) -> jax.Array:
    """Masks drawn independently for each member."""
    ranks = jax.vmap(lambda k: jax.random.permutation(k, layer.units))(jax.random.split(key, members))
    return (ranks < layer.kept).astype(jnp.float32)


def _disjoint(members: int, units: int) -> jax.Array:
    """Masks that divide the units among the members."""
    return (jnp.arange(units) * members // units == jnp.arange(members)[:, None]).astype(jnp.float32)


def places_of(group: Symmetry, layers: tuple[Layer, ...]) -> tuple[Place, ...]:
    """Where the units of these layers are, in parameters and statistics."""
    names, places = {layer.name for layer in layers}, []
    for path, axes in group.axes.items():
        for axis, parts in enumerate(axes):
            for part in parts:
                counts = tuple(name if name in names else None for name in part.names)
                if any(counts):
                    sizes = tuple(group.indices.sizes[name] for name in part.names)
                    shape = tuple(group.shapes[path])
                    places.append(Place(path, shape, axis, part.offset, sizes, part.strides, counts))
    return tuple(places)
