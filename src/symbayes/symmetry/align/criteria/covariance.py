"""How signs act on activations: measured by trying each, and checked by trying all at once.

Scales are left out: they are divided out of activations before these are compared.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from symbayes import trees
from symbayes.symmetry.align.criteria.observe import Observed
from symbayes.symmetry.group.element import Element, spread
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.members import Factor
from symbayes.symmetry.group.sites import Entry
from symbayes.symmetry.group.terms import Term, terms_of
from symbayes.symmetry.group.trial import generic, shuffled

TOLERANCE = 1e-2
"""How far, relative to its size, an activation may be from where it should have moved."""

Placement = tuple[int, ...]
"""The axes of a term that carry the indices of a sign."""


def measured(seen: Observed, group: Symmetry, example: Mapping[str, np.ndarray]) -> Observed:
    """Activations with the signs that act on them, but those that move in no known way."""
    flat = {path: np.asarray(leaf, np.float32) for path, leaf in generic(trees.unflatten(example)).items()}

    @jax.jit
    def run(element: Element, flat: dict[str, Any], inputs: tuple[Any, ...]) -> dict[str, jax.Array]:
        return seen(trees.flatten(group.act(element, trees.unflatten(flat))), inputs)

    def moved(element: Element) -> dict[str, np.ndarray]:
        return {path: np.asarray(leaf) for path, leaf in run(element, flat, seen.inputs).items()}

    still = group.unmoved()
    drawn = shuffled(still, spread=0.0)
    base = moved(still)
    entries: dict[str, list[Entry]] = defaultdict(list)
    failed = set()
    for sign in group.signs:
        after = moved(dataclasses.replace(still, signs=still.signs | {sign.name: drawn.signs[sign.name]}))
        values = np.asarray(drawn.signs[sign.name]).reshape(group.indices.shape(sign.over))
        for path in seen.spots:
            for term, parts, axes in _cells(seen.group, path):
                found = _fit(sign, values, term, term.take(base[path]), term.take(after[path]))
                if found is None:
                    failed.add(path)
                for placement in found or ():
                    where = tuple((axes[k], term.names[k]) for k in placement)
                    entries[path].append(Entry("sign", sign.name, parts, where, 1.0))
    wide = dataclasses.replace(seen.group, entries=dict(seen.group.entries) | dict(entries))
    after = moved(drawn)
    for path, expected in jax.device_get(_acted(wide, drawn, base)).items():
        if np.linalg.norm(after[path] - expected) > TOLERANCE * np.linalg.norm(expected):
            failed.add(path)
    return dataclasses.replace(
        seen,
        group=_without(wide, failed),
        spots={path: spot for path, spot in seen.spots.items() if path not in failed},
    )


def _acted(group: Symmetry, element: Element, arrays: dict[str, np.ndarray]) -> dict[str, trees.Array]:
    """Arrays that an element moved, in one program."""

    @jax.jit
    def act(element: Element, arrays: dict[str, Any]) -> dict[str, trees.Array]:
        return {path: group.act_on(path, element, array) for path, array in arrays.items()}

    return act(element, arrays)


def _without(group: Symmetry, paths: set[str]) -> Symmetry:
    def kept(table: Mapping[str, Any]) -> dict[str, Any]:
        return {path: entry for path, entry in table.items() if path not in paths}

    return dataclasses.replace(
        group, shapes=kept(group.shapes), axes=kept(group.axes), entries=kept(group.entries)
    )


def _cells(group: Symmetry, path: str) -> Iterator[tuple[Term, tuple[tuple[int, int], ...], list[int]]]:
    """The terms of an array, each with its part of every axis of several, and the axis of each index."""
    axes = group.axes[path]
    terms = [term for term in terms_of(group) if term.path == path]
    picks = itertools.product(*(range(len(parts)) for parts in axes))
    for term, pick in zip(terms, picks, strict=True):
        parts = tuple((axis, number) for axis, number in enumerate(pick) if len(axes[axis]) > 1)
        yield term, parts, [axis for axis, number in enumerate(pick) for _ in axes[axis][number].names]


def _fit(
    factor: Factor, values: np.ndarray, term: Term, before: np.ndarray, after: np.ndarray
) -> tuple[Placement, ...] | None:
    """Where a sign of these values acted, to take an array there; None if it did not."""
    where = [[k for k, name in enumerate(term.names) if name == index] for index in factor.over]
    candidates = list(itertools.product(*where))
    for count in range(len(candidates) + 1):
        for chosen in itertools.combinations(candidates, count):
            expected = before
            for placement in chosen:
                expected = expected * spread(values, placement, before.ndim)
            if np.linalg.norm(after - expected) <= TOLERANCE * np.linalg.norm(before):
                return chosen
    return None
