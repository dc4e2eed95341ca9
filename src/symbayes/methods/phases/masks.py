"""Masks over the units of a network: members that each use some of them.

The units of a layer are what can be reordered without changing the network's function.  The symmetries found
in the network's program determine which entries of which parameters belong to a unit, also across flattening
and residual connections.  Member ``m`` keeps the units for which its masks ``b_m`` are one.  Entry ``i`` of a
parameter, which belongs to the units ``u_1(i), u_2(i), ...`` along its axes, becomes

    w_{m,i} = w_i b_m(u_1(i)) b_m(u_2(i)) ...

so units that a member does not keep neither receive nor send anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.engine.opened import group_of
from symbayes.methods.phases.sharing import Family, repeated
from symbayes.posterior import Posterior
from symbayes.specs import require


@dataclass(frozen=True)
class Place:
    """Part of an axis that runs over units: entries ``offset + sum_k stride_k i_k``, and which of the indices
    i_k count units of which layer."""

    path: str
    axis: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    layers: tuple[str | None, ...]

    def entries(self) -> np.ndarray:
        grids = np.meshgrid(*(np.arange(size) for size in self.sizes), indexing="ij")
        return self.offset + np.sum([s * grid for s, grid in zip(self.strides, grids, strict=True)], axis=0)

    def factor(self, masks: dict[str, jax.Array]) -> jax.Array:
        """The factor by which the entries are multiplied."""
        made = jnp.ones(self.sizes)
        for k, layer in enumerate(self.layers):
            if layer is not None:
                made = made * masks[layer].reshape([-1 if j == k else 1 for j in range(len(self.sizes))])
        return made


@dataclass(frozen=True)
class Masked(Family):
    """Members with masks over the units of each layer.

    Attributes:
        layers: names of layers and their numbers of units.
        places: the places of units in the parameters.
        masks: random, each keeping a share of the units; or disjoint, with an equal share for each member,
            which then also has its own copy of parameters that belong to no unit.
    """

    layers: tuple[tuple[str, int], ...]
    places: tuple[Place, ...]
    masks: Literal["random", "disjoint"]

    def own(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        masked = {place.path for place in self.places}
        rest = {name: leaf for name, leaf in trees.flatten(params).items() if name not in masked}
        return repeated(rest, members) if self.masks == "disjoint" else {}

    def fixed(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        return {
            layer: _random(jax.random.fold_in(key, number), members, units, amount)
            if self.masks == "random"
            else _disjoint(members, units)
            for number, (layer, units) in enumerate(self.layers)
        }

    def member(self, shared: Any, own: Any, fixed: Any) -> Any:
        flat = trees.flatten(shared) | own
        for place in self.places:
            leaf = flat[place.path]
            vector = jnp.ones(leaf.shape[place.axis]).at[place.entries()].set(place.factor(fixed))
            flat[place.path] = leaf * vector.reshape([-1 if a == place.axis else 1 for a in range(leaf.ndim)])
        return trees.like(shared, flat)


def _random(key: jax.Array, members: int, units: int, amount: Any) -> jax.Array:
    """Masks that keep a share `amount` of the units, at least one, drawn independently for each member."""
    ranks = jax.vmap(lambda k: jax.random.permutation(k, units))(jax.random.split(key, members))
    return (ranks < jnp.maximum(1, jnp.round(amount * units))).astype(jnp.float32)


def _disjoint(members: int, units: int) -> jax.Array:
    """Masks that divide the units among the members."""
    return (jnp.arange(units) * members // units == jnp.arange(members)[:, None]).astype(jnp.float32)


def masked(posterior: Posterior, masks: Literal["random", "disjoint"], members: int) -> Masked:
    """Masks over the units of a posterior's network."""
    form = posterior.chunks.x
    group = group_of(posterior.network, (2, *form.shape[2:]), form.dtype)
    layers = {p.name: p.size for p in group.permutations if not p.over}
    require(bool(layers), "this network has no hidden layer whose units could be masked: use another method")
    if masks == "disjoint":
        small = min(layers, key=lambda name: layers[name])
        require(
            layers[small] >= members,
            f"the {layers[small]} units of {small} cannot be divided among {members} members: "
            "use fewer members or a wider network",
        )
    places = []
    for path, axes in group.axes.items():
        if not path.startswith("params/"):
            continue
        for axis, parts in enumerate(axes):
            for part in parts:
                counts = tuple(name if name in layers else None for name in part.names)
                if any(counts):
                    sizes = tuple(group.indices.sizes[name] for name in part.names)
                    name = path.removeprefix("params/")
                    places.append(Place(name, axis, part.offset, sizes, part.strides, counts))
    return Masked(tuple(layers.items()), tuple(places), masks)
