"""Steps of an index on which others depend: heads and the dimensions within each, experts and their units.

A head is worth to a place what it gives there after its own dimensions are ordered as well as can be: one
small assignment for every pair of heads, then one over heads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symbayes.symmetry.align.assignment import assign, best_signs, total
from symbayes.symmetry.align.steps import Flip, Reorder, Step
from symbayes.symmetry.group.frame import Frame, Place, Plan
from symbayes.symmetry.group.patterns import sign_choices, weight


def propose(
    plan: Plan,
    reference: Sequence[np.ndarray],
    frame: Frame,
    name: str,
    gram_of: Callable[[str, Place], np.ndarray],
) -> Step:
    """The best permutation of an index together with those that depend on it."""
    choices = sign_choices(plan.own[name])
    size = plan.group.indices.sizes[name]
    values = np.zeros((len(choices), size, size))
    here, inner = 0.0, defaultdict(list)
    for place in plan.places[name]:
        dependant = _dependant(plan, name, place)
        if dependant is not None:
            inner[dependant].append(place)
            continue
        gram = gram_of(name, place)[0]
        here += float(np.trace(gram, dtype=np.float64))
        for c, choice in enumerate(choices):
            values[c] += weight(place.pattern, choice) * gram
    solved = {}
    for dependant, places in inner.items():
        found = _Inner(plan, reference, frame, name, dependant, places)
        solved[dependant] = found.solve()
        values += solved[dependant][0]
        here += sum(float(np.sum(reference[p.term] * frame.arrays[p.term], dtype=np.float64)) for p in places)
    best = values.argmax(0)
    rows = assign(values.max(0)[None])
    gain = float(total(values.max(0)[None], rows).sum()) - here
    numbers = best[np.arange(size), rows[0]]
    parts: list[Reorder | Flip] = [Reorder(plan, name, rows, numbers[None])]
    for dependant, (_, orders, signs) in solved.items():
        # One order for every value of all that the dependant depends on, with this index in its place.
        axis = plan.over[dependant].index(name)
        picked = orders[numbers, np.arange(size), rows[0]], signs[numbers, np.arange(size), rows[0]]
        within = [np.moveaxis(array, 0, axis).reshape(-1, array.shape[-1]) for array in picked]
        parts.append(Reorder(plan, dependant, *within))
    return Step(name, gain, parts)


def _dependant(plan: Plan, name: str, place: Place) -> str | None:
    """The index, permuted within this one, with which a term is matched."""
    names = plan.terms[place.term].names
    if names.count(name) > 1:
        return None
    return next((d for d in plan.dependants[name] if names.count(d) == 1), None)


class _Inner:
    """The assignments of a dependant index, for all pairs of the values of the one it depends on."""

    def __init__(
        self,
        plan: Plan,
        reference: Sequence[np.ndarray],
        frame: Frame,
        name: str,
        dependant: str,
        places: list[Place],
    ):
        self.plan, self.name, self.dependant = plan, name, dependant
        self.others = [other for other in plan.over[dependant] if other != name]
        self.pieces = [self._piece(reference, frame, place) for place in places]
        self.choices = sign_choices(plan.own[name])

    def _piece(self, reference: Sequence[np.ndarray], frame: Frame, place: Place) -> tuple[Any, ...]:
        """Reference and network as (values of the index, values of the others, units, rest), and signs."""
        names = self.plan.terms[place.term].names
        axis = names.index(self.dependant)
        front = [place.axis, *(names.index(other) for other in self.others), axis]
        order = (*front, *(k for k in range(len(names)) if k not in front))
        sizes = self.plan.group.indices
        shape = (sizes.sizes[self.name], sizes.count(self.others), sizes.sizes[self.dependant], -1)
        pattern = next(
            p.pattern for p in self.plan.places[self.dependant] if (p.term, p.axis) == (place.term, axis)
        )
        arrays = (source[place.term].transpose(order).reshape(shape) for source in (reference, frame.arrays))
        return (*arrays, place.pattern, pattern)

    def solve(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every choice of signs, place and unit: the value, the orders and the sign choices within."""
        indices = self.plan.group.indices
        n, m = indices.sizes[self.name], indices.sizes[self.dependant]
        others = indices.shape(self.others)
        values = np.zeros((len(self.choices), n, n))
        orders = np.zeros((len(self.choices), n, n, *others, m), np.int64)
        signs = np.zeros(orders.shape, np.int8)
        for i in range(n):
            grams = [r[i] @ v.swapaxes(-1, -2) for r, v, _, _ in self.pieces]
            for c, choice in enumerate(self.choices):
                patterns: dict[frozenset[str], Any] = defaultdict(lambda: 0)
                for gram, (_, _, outer, pattern) in zip(grams, self.pieces, strict=True):
                    patterns[pattern] = patterns[pattern] + weight(outer, choice) * gram
                best, chosen = best_signs(patterns, self.plan.own[self.dependant])
                rows = assign(best)
                values[c, i] = total(best, rows).sum(-1)
                orders[c, i] = rows.reshape(n, *others, m)
                picked = np.take_along_axis(chosen, rows[..., None], -1)
                signs[c, i] = picked.reshape(n, *others, m)
        return values, orders, signs
