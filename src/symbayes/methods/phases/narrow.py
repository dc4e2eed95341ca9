"""Members with masks, computed at their own width.

A member that keeps some units is a smaller network: the arrays that it needs are those of its units.  With
``k_a(m)`` the entries along axis ``a`` that member ``m`` keeps, and ``w_m`` its masked weights,

    v_m = w_m[k_1(m), k_2(m), ...]

is all that it is computed from.  Whether a
network computes with fewer units is up to its code, and what units have in common changes with their number,
such as their mean in a layer norm.  So the smaller network is compared with the masked one on random weights
and inputs.  Where it fails or differs, members are computed at full width; so they are where a mini-batch
takes too little time to pay for taking the weights out, as in dense networks with small ones.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.engine.opened import fresh, group_of
from symbayes.methods.phases.masks import Layer, Masked, places_of
from symbayes.methods.phases.sharing import InTraining, along
from symbayes.networks import Network
from symbayes.networks.counting import count, operations
from symbayes.networks.sizes import of_any_size
from symbayes.networks.traced import kernel_axes
from symbayes.posterior import Posterior
from symbayes.specs import require

MOVED = 500
"""Operations, about, for which the time is that of taking one weight out and putting its gradient back."""

AGREEMENT = 1e-4
"""Largest difference of the smaller network from the masked one, relative to the largest output."""


@dataclass(frozen=True)
class Smaller(InTraining):
    """A network in training with some of its units."""

    def __call__(self, arguments: Any, x: jax.Array, key: jax.Array) -> Any:
        with of_any_size():
            return super().__call__(arguments, x, key)


@dataclass(frozen=True)
class Narrow(Masked):
    """Members with masks, computed from the units that they keep.

    Attributes:
        cost: of a gradient of one member, relative to that of the whole network.
    """

    cost: float = 1.0

    def fixed(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        """The masks; and for every axis over units, which entries are kept, whether they are inside the mask,
        and where every entry is among these."""
        masks = super().fixed(params, members, amount, key)
        vectors, sizes = jax.vmap(self.vectors)(masks), self.kept_sizes()
        # Entries inside come first, in their order.
        orders = jax.tree.map(lambda vector: jnp.argsort(-vector, axis=1, stable=True), vectors)
        kept = {
            path: [None if o is None else o[:, :size] for o, size in zip(axes, sizes[path], strict=True)]
            for path, axes in orders.items()
        }
        inside = jax.tree.map(lambda v, k: jnp.take_along_axis(v, k, axis=1), vectors, kept)
        ranks = jax.tree.map(lambda order: jnp.argsort(order, axis=1), orders)
        return {"masks": masks, "kept": kept, "inside": inside, "ranks": ranks}

    def kept_sizes(self) -> dict[str, list[int]]:
        """Of every array with units, how many entries along each axis a member keeps at most."""
        most = {layer.name: np.arange(layer.units) < layer.kept for layer in self.layers}
        sizes: dict[str, list[int]] = {}
        for place in self.places:
            own = sizes.setdefault(place.path, list(place.shape))
            factor = np.asarray(place.factor(most))
            own[place.axis] -= int(factor.size - factor.sum())
        return sizes

    def member(self, shared: Any, own: Any, fixed: Any) -> Any:
        return super().member(shared, own, fixed["masks"])

    def in_training(self, network: Network) -> InTraining:
        return Smaller(network)

    def parts(self, weights: Any, shared: Any, own: Any, fixed: Any) -> Any:
        return jax.vmap(self.part, in_axes=(None, 0, 0))(shared, own, fixed)

    def part(self, shared: Any, own: Any, fixed: Any) -> Any:
        """What one member is computed from."""
        flat = self._cut(self.amplified(shared) | own, "params", fixed)
        for name, leaf in flat.items():
            for axis, inside in enumerate(fixed["inside"].get(f"params/{name}", ())):
                if inside is not None:
                    flat[name] = flat[name] * along(inside, axis, leaf.ndim)
        return trees.like(shared, flat)

    def part_of(self, stats: Any, fixed: Any) -> Any:
        return trees.like(stats, self._cut(trees.flatten(stats) if stats else {}, "stats", fixed))

    def _cut(self, flat: dict[str, Any], kind: str, fixed: Any) -> dict[str, Any]:
        """The entries that are kept."""
        cut = dict(flat)
        for name in flat:
            for axis, kept in enumerate(fixed["kept"].get(f"{kind}/{name}", ())):
                if kept is not None:
                    cut[name] = jnp.take(cut[name], kept, axis=axis, mode="clip", unique_indices=True)
        return cut

    def with_part(self, part: Any, stats: Any, fixed: Any) -> Any:
        flat, vectors = trees.flatten(stats) if stats else {}, self.vectors(fixed["masks"])
        for name, found in (trees.flatten(part) if stats else {}).items():
            taken, inside = found, jnp.ones(())
            for axis, rank in enumerate(fixed["ranks"].get(f"stats/{name}", ())):
                if rank is not None:
                    taken = jnp.take(taken, rank, axis=axis, mode="clip")
                    inside = inside * along(vectors[f"stats/{name}"][axis], axis, taken.ndim)
            flat[name] = jnp.where(inside > 0, taken, flat[name])
        return trees.like(stats, flat)


def masked(
    posterior: Posterior, masks: Literal["random", "disjoint"], members: int, batch: int, share: float | None
) -> Masked:
    """Members with masks over the units of a posterior's network: disjoint, or random ones that each keep a
    share of the units of every layer, at least one.  They are computed at their own width where that pays for
    mini-batches of this size."""
    form = posterior.chunks.x
    group = group_of(posterior.network, (2, *form.shape[2:]), form.dtype)
    sizes = {p.name: p.size for p in group.permutations if not p.over}
    require(bool(sizes), "this network has no hidden layer whose units could be masked: use another method")
    if masks == "disjoint":
        small = min(sizes, key=lambda name: sizes[name])
        require(
            sizes[small] >= members,
            f"the {sizes[small]} units of {small} cannot be divided among {members} members: "
            "use fewer members or a wider network",
        )
    share = 1 / members if share is None else share
    kept = np.ceil if masks == "disjoint" else np.round
    layers = tuple(Layer(name, size, max(1, int(kept(share * size)))) for name, size in sizes.items())
    narrow = Narrow(layers, places_of(group, layers), masks)
    if masks == "disjoint":
        narrow = replace(narrow, gains=_gains(narrow, posterior))
    wide = Masked(narrow.layers, narrow.places, masks, narrow.gains)
    numbers = sum(math.prod(shape) for path, shape in group.shapes.items() if path.startswith("params/"))
    if operations(posterior.network, form.shape[2:], form.dtype) * batch < MOVED * numbers:
        return wide
    cost = _cost(narrow, posterior.network, members, form.shape[2:], form.dtype)
    return wide if cost is None else replace(narrow, cost=cost)


def _gains(family: Narrow, posterior: Posterior) -> tuple[tuple[str, float], ...]:
    """With disjoint masks, a unit receives a share of the inputs for which its weights are initialised.  With
    the gain ``1 / sqrt(share)``, they begin as those of a network of the member's own size."""
    form, sizes, gains = posterior.chunks.x, family.kept_sizes(), []
    for name, (inputs, _) in kernel_axes(posterior.network, form.shape[2:], form.dtype):
        path = f"params/{name}"
        if path in sizes:
            whole = next(place.shape for place in family.places if place.path == path)
            gains.append((name, math.sqrt(whole[inputs] / sizes[path][inputs])))
    return tuple((name, gain) for name, gain in gains if gain > 1)


@functools.lru_cache(maxsize=16)
def _cost(family: Narrow, network: Network, members: int, shape: tuple[int, ...], dtype: Any) -> float | None:
    """The operations of a member relative to those of its network; None where it is not computed with fewer
    units, or not the same."""
    example = jnp.zeros((2, *shape), dtype)
    variables = fresh(network, example)

    def part(params: Any, stats: Any, fixed: Any) -> Any:
        return {"params": family.part(params, {}, fixed), "stats": family.part_of(stats, fixed)}

    def abstract(variables: Any) -> Any:
        fixed = family.fixed(variables["params"], members, None, jax.random.key(0))
        return part(variables["params"], variables["stats"], trees.index(fixed, 0))

    def difference(variables: Any, key: jax.Array) -> jax.Array:
        """The largest that the first and the last member have, relative to the largest output."""
        params = jax.tree.map(jnp.add, variables["params"], trees.random_normal(key, variables["params"]))
        fixed, worst = family.fixed(params, members, None, key), jnp.zeros(())
        x = jax.random.normal(key, example.shape) if jnp.issubdtype(dtype, jnp.floating) else example
        for one in (trees.index(fixed, 0), trees.index(fixed, members - 1)):
            full = network.apply({**variables, "params": family.member(params, {}, one)}, x)
            small = network.apply(part(params, variables["stats"], one), x)
            worst = jnp.maximum(worst, jnp.max(jnp.abs(small - full)) / jnp.max(jnp.abs(full)))
        return worst

    try:
        with of_any_size(), jax.default_matmul_precision("float32"):
            program = jax.make_jaxpr(network.apply)(jax.eval_shape(abstract, variables), example[:1])
            error = float(jax.jit(difference)(variables, jax.random.key(0)))
    except Exception:  # The code of a network may fail on other sizes in any way.
        return None
    return count(program.jaxpr) / operations(network, shape, dtype) if error < AGREEMENT else None
