"""Scales under which every hidden unit's incoming weights, bias included, have norm one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from symbayes.symmetry.canonical.incoming import Through, in_order, throughs
from symbayes.symmetry.canonical.masses import pieces_of
from symbayes.symmetry.group.element import spread
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.terms import Term


def unit_norm(group: Symmetry, flat: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The log-scales for a batch of networks; a unit without incoming weights keeps its scale."""
    pieces = pieces_of(group)
    masses = [piece.measure(flat) for piece in pieces]
    terms = [piece.term for piece in pieces]
    incoming = {scale.name: _incoming(scale.name, terms, group) for scale in group.scales}
    logs: dict[str, np.ndarray] = {}
    for name, places in in_order(incoming):
        norm = np.zeros(())
        for through in places:
            piece, mass = pieces[through.number], masses[through.number]
            for acting in piece.acting:
                if acting.name != name:
                    sizes = [mass.shape[place + 1] for place in acting.places]
                    factor = np.exp(2 * acting.exponent * logs[acting.name]).reshape(-1, *sizes)
                    mass = mass * spread(factor, (0, *(place + 1 for place in acting.places)), mass.ndim)
            here = tuple(piece.axes.index(place) for place in through.acting.places)
            norm = norm + piece.along(mass, here).reshape(len(mass), -1)
        alive = norm > 0
        logs[name] = np.where(alive, -np.log(np.where(alive, norm, 1)) / (2 * places[0].acting.exponent), 0.0)
    return logs


def _incoming(name: str, terms: Sequence[Term], group: Symmetry) -> list[Through]:
    """The side of a scale on which most parameters have the unit on their last axis.

    Where exponents differ on that side, those of the smallest size.
    """
    acting = throughs(name, terms, "scale", group.indices.over)
    votes = sum(np.sign(t.acting.exponent) * (1 if t.last else -1) * t.size for t in acting)
    side = -1 if votes < 0 else 1
    chosen = [t for t in acting if t.acting.exponent * side > 0] or acting
    least = min(abs(t.acting.exponent) for t in chosen)
    exponent = next(t.acting.exponent for t in chosen if abs(t.acting.exponent) == least)
    return [t for t in chosen if t.acting.exponent == exponent]
