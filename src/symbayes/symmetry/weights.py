"""Matching networks by their weights: a high inner product with a reference, after scales are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from symbayes.symmetry.ascent import Ascent
from symbayes.symmetry.frame import Frame, Place, Plan
from symbayes.symmetry.group import Symmetry
from symbayes.symmetry.minimal_mass import balanced
from symbayes.symmetry.terms import parents_first
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

        The first is where the network stands.  Then come by turns its indices matched one after the other, in
        random order, and random permutations and signs.
        """
        ascent = Ascent(plan, reference, frame)
        if start and rng is not None:
            (_in_sequence if start % 2 else _at_random)(ascent, rng)
        ascent.run()
        return ascent


def _at_random(ascent: Ascent, rng: np.random.Generator) -> None:
    """Random permutations and signs."""
    frame = ascent.frame
    for name in parents_first(ascent.plan.over):
        rows = frame.labels[name].reshape(-1, frame.labels[name].shape[-1])
        frame.move(name, rng.permuted(np.broadcast_to(np.arange(rows.shape[-1]), rows.shape), axis=-1))
    for name, signs in frame.signs.items():
        frame.flip(name, rng.choice(np.array([-1, 1], np.int8), signs.size))


def _in_sequence(ascent: Ascent, rng: np.random.Generator) -> None:
    """Indices matched one after the other, in random order.

    Each is matched through those terms alone whose other indices are fixed or were matched before, as far as
    there are any: a neighbour in no order yet only adds noise.
    """
    plan = ascent.plan
    left = [str(name) for name in rng.permutation(list(plan.over))]
    left.sort(key=lambda name: len(plan.over[name]))
    matched: set[str] = set()

    def known(name: str, place: Place) -> bool:
        others = [n for n in plan.terms[place.term].names if n in plan.over]
        return others.count(name) == 1 and all(n in matched or n == name for n in others)

    while left:
        ready = [name for name in left if any(known(name, place) for place in plan.places[name])]
        name = (ready or left)[0]
        step = ascent.propose(name, partial(known, name) if ready else None)
        step.apply(ascent.frame)
        ascent.grams.clear()
        matched.add(name)
        left.remove(name)
