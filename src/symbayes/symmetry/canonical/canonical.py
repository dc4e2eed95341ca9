"""One representative of every orbit: scales, signs and order by rules that the weights alone decide."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbayes import trees
from symbayes.draws import Draws
from symbayes.symmetry.canonical.incoming import Through, in_order, throughs
from symbayes.symmetry.canonical.minimal_mass import smallest
from symbayes.symmetry.canonical.scales import log_scales, require_scale
from symbayes.symmetry.group.frame import Frame, Place, Plan
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.stack import Elements, Stack
from symbayes.symmetry.group.terms import parents_first


def canonical(
    draws: Draws | trees.Tree,
    group: Symmetry,
    scale: str | None = "unit-norm",
    order: str | None = "sort",
) -> Draws | dict[str, Any]:
    """Draws in canonical form: whatever element moved a network before, it ends at the same weights.

    Scales: each unit's incoming weights (bias included) get norm one and the outgoing take the factor, or the
    summed squares become smallest.  Signs: of each unit's incoming weights the largest in size is positive.
    Order: units by their largest incoming weight (the maximum over all of them), largest first.
    """
    require_scale(scale)
    if order not in ("sort", None):
        raise ValueError(f"order is 'sort' or None, not {order!r}")
    stack, plan = Stack.of(draws, group), Plan(group)
    rules = in_order({name: _incoming(name, plan) for name in plan.sign_over})
    elements = Elements(stack)
    for ids, flat in stack.blocks():
        # Unlike an alignment, a canonical form has to be unique: a unit without one is refused.
        logs = smallest(group, flat)[0] if scale == "minimal-mass" else log_scales(scale, group, flat)
        for k, number in enumerate(map(int, ids)):
            frame = Frame.at_scales(plan, trees.index(flat, k), trees.index(logs, k))
            for sign, places in rules:
                frame.flip(sign, _signs(frame, places))
            if order == "sort":
                for name in parents_first(plan.over):
                    frame.move(name, np.argsort(-largest_incoming(frame, name), axis=-1, kind="stable"))
            elements[number] = frame.element()
    return stack.moved(elements.batch())


def _incoming(sign: str, plan: Plan) -> list[Through]:
    acting = throughs(sign, plan.terms, "sign", plan.over)
    return [through for through in acting if through.last] or acting


def _signs(frame: Frame, places: list[Through]) -> np.ndarray:
    """For every unit the sign of the largest of its incoming weights."""
    extremes = []
    for through in places:
        array = frame.arrays[through.number]
        units = [array.shape[place] for place in through.acting.places]
        front = np.moveaxis(array, through.acting.places, range(len(units)))
        rows = front.reshape(int(np.prod(units, dtype=int)), -1)
        extremes.append(np.take_along_axis(rows, np.abs(rows).argmax(1)[:, None], 1)[:, 0])
    candidates = np.stack(extremes, 1)
    largest = np.take_along_axis(candidates, np.abs(candidates).argmax(1)[:, None], 1)[:, 0]
    return np.where(largest < 0, -1, 1).astype(np.int8)


def largest_incoming(frame: Frame, name: str) -> np.ndarray:
    """The largest incoming weight of every unit of an index, one row for each of its permutations.

    Gains and biases, of which a unit has one, do not count: scaled to norm one they are all the same.
    """
    plan = frame.plan
    keys = np.full(plan.group.indices.shape([*plan.over[name], name]), -np.inf)
    for place in _rows(plan, name):
        names = plan.terms[place.term].names
        units = [*(names.index(other) for other in plan.over[name]), place.axis]
        rest = tuple(k for k in range(len(names)) if k not in units)
        key = frame.arrays[place.term].max(rest)
        keys = np.maximum(keys, key.transpose(np.argsort(np.argsort(units))))
    return keys.reshape(-1, keys.shape[-1])


def _rows(plan: Plan, name: str) -> list[Place]:
    """The places where the incoming weights of an index are."""
    places = plan.places[name]
    units = plan.group.indices.count([*plan.over[name], name])
    several = [p for p in places if np.prod(plan.terms[p.term].shape) > units] or places
    return [p for p in several if plan.terms[p.term].ends[p.axis]] or several
