"""Scales under which every hidden unit's incoming weights, bias included, have norm one.

Scales that depend on one another in a circle have no such value: they are fixed as those of dead units are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from symbayes.symmetry.canonical.dead_units import fix_dead, known_mass
from symbayes.symmetry.canonical.incoming import Through, in_order, throughs
from symbayes.symmetry.canonical.masses import pieces_of, unscaled
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.terms import Term


def unit_norm(group: Symmetry, flat: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The log-scales for a batch of networks; a unit without incoming weights keeps its scale."""
    logs, alive, circular = _norms(group, flat)
    return fix_dead(group, flat, logs, {name: mask | (name not in circular) for name, mask in alive.items()})


def unit_norm_of_all(group: Symmetry, flat: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same, with a scale for units without incoming weights too: their outgoing weights get norm one."""
    logs, alive, _ = _norms(group, flat)
    return fix_dead(group, flat, logs, alive)


def _norms(
    group: Symmetry, flat: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], set[str]]:
    """The log-scales, which of them have weights to be fixed by, and the scales that depend on one another in
    a circle (through a layer of one unit without bias).

    The weights that come from a unit without incoming weights count for no norm: its scale is not known, and
    it adds nothing.
    """
    pieces = pieces_of(group)
    masses = [piece.measure(flat) for piece in pieces]
    terms = [piece.term for piece in pieces]
    incoming = {scale.name: _incoming(scale.name, terms, group) for scale in group.scales}
    logs: dict[str, np.ndarray] = {}
    alive: dict[str, np.ndarray] = {}
    for name, places in in_order(incoming):
        norm = np.zeros(())
        for through in places:
            piece = pieces[through.number]
            number = piece.term.scales.index(through.acting)
            norm = norm + known_mass(piece, masses[through.number], number, logs, alive)
        alive[name] = np.asarray(norm > 0)
        log = -np.log(np.where(alive[name], norm, 1)) / (2 * places[0].acting.exponent)
        logs[name] = np.where(alive[name], log, 0.0)
    none = unscaled(group, len(next(iter(flat.values()))))
    circular = none.keys() - logs.keys()
    alive = {name: alive.get(name, np.zeros(log.shape, bool)) for name, log in none.items()}
    return none | logs, alive, circular


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
