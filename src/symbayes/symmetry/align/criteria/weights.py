"""Matching networks by their weights: a high inner product with a reference, after scales are removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from symbayes.symmetry.align.criterion import Found
from symbayes.symmetry.align.reference import climb
from symbayes.symmetry.canonical.scales import require_scale
from symbayes.symmetry.group.frame import Plan
from symbayes.symmetry.group.stack import Stack


@dataclass(frozen=True)
class Weights:
    """Maximise the inner product of weights, ``sum_p <r_p, (g w)_p>`` over all parameters p.

    Scales come first, since the inner product would grow with them for ever: every network is brought to the
    scales of smallest mass, or to incoming weights of norm one, or left as it is.  Units without weight on
    one side, which have no smallest mass, keep their scale.  Then coordinate ascent over permutations and
    signs (weight matching: Ainsworth, Hayase, Srinivasa 2023) until no step gains anything.
    """

    scale: str | None = "minimal-mass"

    def __post_init__(self) -> None:
        require_scale(self.scale)

    def elements(
        self, stack: Stack, reference: Mapping[str, np.ndarray] | None, restarts: int, seed: int
    ) -> Found:
        return climb(self.scale, stack, Plan(stack.group), reference, restarts, seed)
