"""Which parameters fix a sign or scale, and in which order.

A sign or scale is fixed through the parameters on its incoming side.  These may depend on other signs or
scales, which have to be fixed before: those of a first layer come first, those of the next follow.  In a loop
(a residual stream and its branches) the one that knows most of its incoming parameters goes first, through
those it knows; one that knows all of them goes before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symbayes.symmetry.group.terms import Acting, Term


@dataclass(frozen=True)
class Through:
    """A term through which a sign or scale is fixed: its number, and where it acts there."""

    number: int
    acting: Acting
    others: frozenset[str]
    """What else acts on the term; the thing itself is among these where it acts twice."""
    size: float
    """How many parameters of the term belong to one unit."""
    last: bool
    """Whether the unit is on the parameter's last axis, as incoming weights and biases have it."""


def throughs(
    name: str, terms: Sequence[Term], kind: str, over: Mapping[str, tuple[str, ...]]
) -> list[Through]:
    """All terms on which a sign or scale acts; `over` says on which others an index depends."""
    found = []
    for number, term in enumerate(terms):
        acts = term.signs if kind == "sign" else term.scales
        for k, acting in enumerate(acts):
            if acting.name == name:
                others = frozenset(other.name for j, other in enumerate(acts) if j != k)
                units = np.prod([term.shape[place] for place in acting.places])
                named = {term.names[place] for place in acting.places}
                outer = {other for unit in named for other in over.get(unit, ())}
                ends = [term.ends[place] for place in acting.places if term.names[place] not in outer]
                last = not ends or any(ends)
                found.append(Through(number, acting, others, float(np.prod(term.shape) / units), last))
    return found


def in_order(incoming: Mapping[str, Sequence[Through]]) -> list[tuple[str, list[Through]]]:
    """The signs or scales in the order in which they can be fixed, each with what fixes it.

    Those are missing of which all parameters depend on others that depend on them.
    """
    found: dict[str, list[Through]] = {}
    while len(found) < len(incoming):
        known = {
            name: [through for through in places if through.others <= found.keys()]
            for name, places in incoming.items()
            if name not in found
        }
        name = max(known, key=lambda n: (len(known[n]) == len(incoming[n]), _size(known[n])))
        if not known[name]:
            break
        found[name] = known[name]
    return list(found.items())


def _size(places: Sequence[Through]) -> float:
    return sum((through.size for through in places), 0.0)
