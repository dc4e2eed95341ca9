"""Where an element touches a parameter: one index vector and one factor vector per group of axes.

Mostly a site is one axis.  It spans several where a permutation of one axis depends on the index of
another (heads and their dimensions on two axes), or one free function runs over both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes.symmetry.group.element import Element, Indices, module_of


@dataclass(frozen=True)
class Part:
    """Part of an axis: the entries ``offset + sum_k stride_k i_k`` over the named indices i_k."""

    offset: int
    names: tuple[str, ...]
    strides: tuple[int, ...]


Parts = tuple[Part, ...]
"""The parts that make up an axis."""


@dataclass(frozen=True)
class Entry:
    """A sign or scale that acts on a parameter: where (parts of axes, indices at axes) and with which
    exponent.
    """

    kind: str
    name: str
    parts: tuple[tuple[int, int], ...]
    places: tuple[tuple[int, str], ...]
    exponent: float

    @property
    def axes(self) -> set[int]:
        return {axis for axis, _ in (*self.parts, *self.places)}


@dataclass(frozen=True)
class Block:
    """Part of a site: the named indices, their strides in the flattened site, and what scales it."""

    base: int
    names: tuple[str, ...]
    strides: tuple[int, ...]
    factors: tuple[tuple[str, str, tuple[int, ...], float], ...]

    def positions(self, indices: Indices) -> np.ndarray:
        flat = np.full((1,) * len(self.names), self.base)
        for k, (name, stride) in enumerate(zip(self.names, self.strides, strict=True)):
            shape = [-1 if j == k else 1 for j in range(len(self.names))]
            flat = flat + stride * np.arange(indices.sizes[name]).reshape(shape)
        return flat.ravel()


@dataclass(frozen=True)
class Site:
    """Axes of a parameter on which an element acts together."""

    axes: tuple[int, ...]
    blocks: tuple[Block, ...]

    def compile(self, indices: Indices, over: Mapping[str, tuple[str, ...]], element: Element):
        """The index vector and the factor vector over the flattened axes; None where nothing is done.

        A batch of elements gives a batch of vectors.
        """
        order = np.argsort(np.concatenate([block.positions(indices) for block in self.blocks]))
        in_order = np.array_equal(order, np.arange(len(order)))

        def join(pieces: list[Any]) -> Any:
            whole = module_of(pieces).concatenate(pieces, axis=-1) if len(pieces) > 1 else pieces[0]
            return whole if in_order else whole[..., order]

        moved = any(name in element.permutations for block in self.blocks for name in block.names)
        index = join([_index(block, indices, element) for block in self.blocks]) if moved else None
        scaled = any(block.factors for block in self.blocks)
        factor = join([_factor(block, indices, over, element) for block in self.blocks]) if scaled else None
        return index, factor


def _index(block: Block, indices: Indices, element: Element) -> Any:
    flat = np.full((1,) * len(block.names), block.base, np.int32)
    for place, stride in enumerate(block.strides):
        flat = flat + stride * indices.source(element, block.names, place)
    return indices.flattened(flat, element.lead, block.names)


def _factor(block: Block, indices: Indices, over: Mapping[str, tuple[str, ...]], element: Element) -> Any:
    rank, lead = len(block.names), element.lead
    log_scale, sign = np.zeros((1,) * rank, np.float32), np.ones((1,) * rank, np.float32)
    for kind, name, places, exponent in block.factors:
        array = element.signs[name] if kind == "sign" else element.log_scales[name]
        spread = indices.spread(array, over[f"{kind}/{name}"], places, lead, rank)
        if kind == "sign":
            sign = sign * spread
        else:
            log_scale = log_scale + exponent * spread
    return indices.flattened(sign * module_of(log_scale).exp(log_scale), lead, block.names)


def move(
    array: jax.Array, axes: Sequence[int], index: jax.Array | None, factor: jax.Array | None
) -> jax.Array:
    """``new[i] = factor[i] * old[index[i]]`` on the flattened axes of an array."""
    if len(axes) == 1:
        axis = axes[0]
        if index is not None:
            array = jnp.take(array, index, axis=axis, unique_indices=True, mode="clip")
        if factor is not None:
            shape = [-1 if k == axis else 1 for k in range(array.ndim)]
            array = array * factor.astype(array.dtype).reshape(shape)
        return array
    front = jnp.moveaxis(array, axes, range(len(axes)))
    flat = front.reshape(math.prod(front.shape[: len(axes)]), -1)
    flat = move(flat, (0,), index, factor)
    return jnp.moveaxis(flat.reshape(front.shape), range(len(axes)), axes)


def sites_of(
    shape: Sequence[int], axes: Sequence[Parts], entries: Sequence[Entry], indices: Indices
) -> list[Site]:
    """The sites of one parameter."""
    group = list(range(len(shape)))

    def join(found: set[int]) -> None:
        for axis in found:
            old, new = group[axis], group[min(found)]
            group[:] = [new if g == old else g for g in group]

    for axis, parts in enumerate(axes):
        for part in parts:
            needed = {other for name in part.names for other in indices.over.get(name, ())} - set(part.names)
            join({axis} | {k for k, found in enumerate(axes) if needed & {n for p in found for n in p.names}})
    for entry in entries:
        join(entry.axes)
    joined = [tuple(k for k in range(len(shape)) if group[k] == g) for g in dict.fromkeys(group)]
    if any(not entry.axes for entry in entries):
        joined = [(), *joined]
    found = [_site(shape, axes, members, entries, indices) for members in joined]
    return [site for site in found if _acts(site, indices)]


def _acts(site: Site, indices: Indices) -> bool:
    return any(block.factors or any(n in indices.over for n in block.names) for block in site.blocks)


def _site(shape, axes, members: tuple[int, ...], entries: Sequence[Entry], indices: Indices) -> Site:
    strides = [math.prod(shape[m] for m in members[k + 1 :]) for k in range(len(members))]
    blocks = []
    for pick in itertools.product(*(range(len(axes[m])) for m in members)):
        base, names, steps = 0, [], []
        where: dict[tuple[int, str], int] = {}
        for axis, stride, number in zip(members, strides, pick, strict=True):
            part = axes[axis][number]
            base += stride * part.offset
            where |= {(axis, name): len(names) + k for k, name in enumerate(part.names)}
            names += part.names
            steps += [stride * step for step in part.strides]
        chosen = dict(zip(members, pick, strict=True))
        factors = tuple(
            (entry.kind, entry.name, tuple(where[place] for place in entry.places), entry.exponent)
            for entry in entries
            if entry.axes <= set(members)
            and bool(entry.axes) == bool(members)
            and all(chosen[axis] == part for axis, part in entry.parts)
        )
        blocks.append(Block(base, tuple(names), tuple(steps), factors))
    return Site(members, tuple(blocks))
