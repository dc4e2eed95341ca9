"""Matching networks by their weights: a high inner product with a reference, after scales are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symbayes.symmetry.ascent import Ascent
from symbayes.symmetry.criterion import Found
from symbayes.symmetry.frame import Frame, Plan
from symbayes.symmetry.group import Symmetry
from symbayes.symmetry.minimal_mass import balanced
from symbayes.symmetry.reference import climb
from symbayes.symmetry.stack import Stack
from symbayes.symmetry.starts import at_random, best_start, in_sequence
from symbayes.symmetry.unit_norm import unit_norm


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
        if self.scale not in ("minimal-mass", "unit-norm", None):
            raise ValueError(f"scale is 'minimal-mass', 'unit-norm' or None, not {self.scale!r}")

    def elements(
        self, stack: Stack, reference: Mapping[str, np.ndarray] | None, restarts: int, seed: int
    ) -> Found:
        """Elements for all draws, to a reference or jointly."""
        return climb(self, stack, Plan(stack.group), reference, restarts, seed)

    def log_scales(self, group: Symmetry, flat: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The log-scales that bring a batch of networks to the chosen form."""
        if self.scale is None or not group.scales:
            count = len(next(iter(flat.values())))
            return {scale.name: np.zeros((count, scale.size)) for scale in group.scales}
        return (balanced if self.scale == "minimal-mass" else unit_norm)(group, flat)

    def match(
        self,
        plan: Plan,
        reference: Sequence[np.ndarray],
        frame: Frame,
        start: int = 0,
        rng: np.random.Generator | None = None,
    ) -> Ascent:
        """Climb from one of several starts.

        The first is where the network stands or, if that is better, its indices matched one after the other,
        best known first.  Then come by turns such sequences in random order, and random permutations and
        signs.
        """
        ascent = Ascent(plan, reference, frame)
        if start and rng is not None:
            (in_sequence if start % 2 else at_random)(ascent, rng)
        else:
            ascent = best_start(ascent)
        ascent.run()
        return ascent
