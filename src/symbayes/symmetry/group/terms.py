"""Parameters cut into terms: arrays with one named index on every axis.

An axis of a parameter is a sum of parts, each a product of indices.  Choosing one part of every axis gives a
term; the terms of a parameter together are all of it.  On terms, permuting an index is a take along the axes
that carry its name, a sign or scale is a product along some axes, and a Gram matrix one contraction.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbayes.symmetry.group.element import Indices, spread
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.sites import Part


@dataclass(frozen=True)
class Acting:
    """A sign or scale that acts on a term: the axes its indices are on, and its exponent."""

    name: str
    places: tuple[int, ...]
    exponent: float


@dataclass(frozen=True)
class Term:
    """A piece of a parameter: where it is cut, and which index each of its axes carries."""

    path: str
    cuts: tuple[Sequence[int], ...]
    """The entries of each axis, a range where they are consecutive."""
    names: tuple[str, ...]
    shape: tuple[int, ...]
    ends: tuple[bool, ...]
    """Whether an axis is part of the parameter's last one, where a unit's incoming weights have it."""
    signs: tuple[Acting, ...]
    scales: tuple[Acting, ...]

    @property
    def weighs(self) -> bool:
        """Whether the term counts in inner products and masses; running statistics only follow."""
        return not self.path.startswith("stats/")

    def take(self, array: Any, lead: int = 0) -> Any:
        """The term of a parameter, after so many leading axes."""
        for axis, cut in enumerate(self.cuts):
            if isinstance(cut, range):
                array = array[(slice(None),) * (axis + lead) + (slice(cut.start, cut.stop),)]
            else:
                array = array.take(np.array(cut), axis=axis + lead)
        return array.reshape((*array.shape[:lead], *self.shape))


def terms_of(group: Symmetry) -> list[Term]:
    """All terms of all parameters that a group knows."""
    return [term for path in group.shapes for term in _terms(group, path)]


def _terms(group: Symmetry, path: str) -> list[Term]:
    found = []
    axes = group.axes[path]
    for pick in itertools.product(*(range(len(parts)) for parts in axes)):
        parts = [axes[axis][number] for axis, number in enumerate(pick)]
        names = tuple(name for part in parts for name in part.names)
        where = {
            (axis, name): sum(len(before.names) for before in parts[:axis]) + k
            for axis, part in enumerate(parts)
            for k, name in enumerate(part.names)
        }
        acting = {"sign": [], "scale": []}
        for entry in group.entries.get(path, ()):
            if all(pick[axis] == number for axis, number in entry.parts):
                places = tuple(where[place] for place in entry.places)
                acting[entry.kind].append(Acting(entry.name, places, entry.exponent))
        found.append(
            Term(
                path,
                tuple(_cut(part, group.indices) for part in parts),
                names,
                group.indices.shape(names),
                tuple(axis == len(axes) - 1 for axis, part in enumerate(parts) for _ in part.names),
                tuple(acting["sign"]),
                tuple(acting["scale"]),
            )
        )
    return found


def _cut(part: Part, indices: Indices) -> Sequence[int]:
    """The entries of a part in the order of its indices."""
    positions = np.full((), part.offset)
    for name, stride in zip(part.names, part.strides, strict=True):
        positions = positions[..., None] + stride * np.arange(indices.sizes[name])
    found = tuple(positions.ravel().tolist())
    consecutive = range(part.offset, part.offset + len(found))
    return consecutive if found == tuple(consecutive) else found


def permuted(
    array: np.ndarray, names: Sequence[str], name: str, rows: np.ndarray, indices: Indices
) -> np.ndarray:
    """An array with named axes after a permutation of one index: ``new[i] = old[rows[i]]``.

    `rows` has one permutation for every value of the indices that this one depends on.
    """
    over = indices.over[name]
    for axis in (k for k, found in enumerate(names) if found == name):
        if not over:
            array = np.take(array, rows[0], axis=axis)
            continue
        places = [*(names.index(other) for other in over), axis]
        index = spread(rows.reshape(indices.shape([*over, name])), places, len(names))
        array = np.take_along_axis(array, index, axis)
    return array


def multiplied(array: np.ndarray, places: Sequence[int], factor: np.ndarray) -> np.ndarray:
    """An array times a factor along some of its axes."""
    return np.asarray(array * spread(factor, places, array.ndim).astype(array.dtype))


def parents_first(over: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The permuted indices, each after those that it depends on."""
    return sorted(over, key=lambda name: len(over[name]))
