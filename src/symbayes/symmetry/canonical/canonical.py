"""One representative of every orbit: scales, signs and order by rules that the weights alone decide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symbayes import trees
from symbayes.draws import Draws
from symbayes.symmetry.canonical.incoming import Through
from symbayes.symmetry.canonical.refine import Refinement, rows_of
from symbayes.symmetry.canonical.scales import canonical_scales, require_scale
from symbayes.symmetry.canonical.sign_rules import fix_by_classes, fix_by_largest, incoming_first, leave_one
from symbayes.symmetry.group.frame import Frame, Place, Plan
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.stack import Elements, Stack
from symbayes.symmetry.group.terms import Term, terms_of


def canonical(
    draws: Draws | trees.Tree,
    group: Symmetry,
    scale: str | None = "unit-norm",
    order: str | None = "sort",
) -> Draws | dict[str, trees.Tree]:
    """Draws in canonical form: all networks that differ by an element of the group get the same weights.

    Scales: each unit's incoming weights (bias included) get norm one and the outgoing take the factor, or the
    summed squares become smallest.  Dead units, whose scale this does not fix (no incoming weights; no
    smallest mass, since one side is zero), do not count in the scales of others; once those are fixed, the
    weights that a dead unit has left get norm one (`symmetry.dead_units` says how).
    Signs: of each unit's incoming weights the largest in size is positive.  Order: units by their largest
    incoming weight (the maximum over all of them), largest first.  Ties are broken by all further weights,
    incoming before outgoing; `symmetry.refine` describes which ties remain.
    """
    require_scale(scale)
    if order not in ("sort", None):
        raise ValueError(f"order is 'sort' or None, not {order!r}")
    stack, plan = Stack.of(draws, group), CanonicalPlan(group)
    rules = incoming_first(plan)
    elements = Elements(stack)
    for ids, flat in stack.blocks():
        logs = canonical_scales(scale, group, flat)
        for k, number in enumerate(map(int, ids)):
            frame = Frame.at_scales(plan, trees.index(flat, k), trees.index(logs, k))
            if not all(np.all(np.isfinite(array)) for array in frame.arrays):
                raise ValueError(f"the scales of draw {number} are beyond float32: leave such draws out")
            _settle(frame, rules, order)
            elements[number] = frame.element()
    return stack.moved(elements.batch())


@dataclass(frozen=True)
class CanonicalPlan(Plan):
    """All terms, running statistics too: they tell units apart that are equal in all else."""

    @cached_property
    def terms(self) -> list[Term]:
        return terms_of(self.group)


def _settle(frame: Frame, rules: list[tuple[str, list[Through]]], order: str | None) -> None:
    """Bring a network to its canonical signs and order."""
    found = Refinement(frame, ordered=order is None)
    for sign, places in rules:
        fix_by_largest(found, sign, places)
    for name in frame.plan.over if order == "sort" else ():
        found.sort(name, largest_incoming(found, name))
    while fix_by_classes(found) or found.refine() or found.individualise() or leave_one(found):
        pass
    if order == "sort":
        found.order()


def largest_incoming(found: Refinement, name: str) -> np.ndarray:
    """The largest incoming weight of every unit of an index, in size where signs are open.

    Gains and biases, of which a unit has one, do not count: scaled to norm one they are all the same.
    """
    plan = found.plan
    keys = np.full(plan.group.indices.count([*plan.over[name], name]), -np.inf)
    for place in _rows(plan, name):
        keys = np.maximum(keys, rows_of(found.values(place.term), found.unit_axes(name, place)).max(1))
    return keys


def _rows(plan: Plan, name: str) -> list[Place]:
    """The places where the incoming weights of an index are."""
    places = [place for place in plan.places[name] if plan.terms[place.term].weighs]
    units = plan.group.indices.count([*plan.over[name], name])
    several = [p for p in places if np.prod(plan.terms[p.term].shape) > units] or places
    return [p for p in several if plan.terms[p.term].ends[p.axis]] or several
