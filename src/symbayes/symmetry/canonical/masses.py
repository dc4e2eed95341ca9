"""Squared norms of parameters as functions of the scales.

``f(s) = sum_k m_k exp(2 <e_k, s>)`` with log-scales s, exponents e_k, and the masses m_k: squares of the
parameters that scale alike, summed.  Running statistics have no mass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.terms import Acting, Term, terms_of

NOTHING = 1e-30
"""Weights whose norm is smaller count as zero: those of dead units decay so far, and float32 ends at 1e38, so
that no scale brings them to size one."""


@dataclass(frozen=True)
class Piece:
    """A term's masses, over the axes along which scales act."""

    term: Term
    axes: tuple[int, ...]
    acting: tuple[Acting, ...]
    """The scales, placed on the axes that are left."""

    def measure(self, flat: Mapping[str, np.ndarray]) -> np.ndarray:
        """The masses of a batch of networks, in double precision."""
        array = np.square(self.term.take(flat[self.term.path], lead=1), dtype=np.float64)
        summed = tuple(k + 1 for k in range(len(self.term.names)) if k not in self.axes)
        masses = array.sum(summed)
        return np.where(masses < NOTHING**2, 0, masses)

    def along(self, masses: Any, places: tuple[int, ...]) -> Any:
        """Masses (with any leading axes) summed over all axes but some, which come in the given order."""
        lead = masses.ndim - len(self.axes)
        summed = tuple(k + lead for k in range(len(self.axes)) if k not in places)
        order = (*range(lead), *(lead + sorted(places).index(place) for place in places))
        return masses.sum(summed).transpose(order)


def unscaled(group: Symmetry, count: int) -> dict[str, np.ndarray]:
    """Log-scales of zero for so many networks."""
    return {scale.name: np.zeros((count, scale.size)) for scale in group.scales}


def pieces_of(group: Symmetry, weighs: bool = True) -> tuple[Piece, ...]:
    """What scales, in all parameters that have mass or, if not `weighs`, in running statistics."""
    found = []
    for term in terms_of(group):
        if term.weighs != weighs or not term.scales:
            continue
        axes = tuple(sorted({place for acting in term.scales for place in acting.places}))
        acting = tuple(
            Acting(a.name, tuple(axes.index(place) for place in a.places), a.exponent) for a in term.scales
        )
        found.append(Piece(term, axes, acting))
    return tuple(found)
