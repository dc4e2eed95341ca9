"""Signs that all units of an index have in common, chosen together with its permutation.

The sign of a whole residual stream turns every Gram matrix of the stream at once: the best permutation for
one sign tells nothing of the best for the other, and a flip gains nothing while the order is wrong.  So both
are matched, and the better is taken.  Of several such signs one after the other is tried, with the others as
they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from symbayes.symmetry.align.assignment import assign, best_signs, total
from symbayes.symmetry.align.steps import Flip
from symbayes.symmetry.group.element import spread
from symbayes.symmetry.group.frame import Plan
from symbayes.symmetry.group.patterns import Pattern

Grams = Mapping[Pattern, np.ndarray]


@dataclass(frozen=True)
class Matching:
    """The best permutations of an index, its own signs (by number), and the value of each permutation."""

    rows: np.ndarray
    numbers: np.ndarray
    totals: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, chosen: np.ndarray) -> Matching:
        """Of the values of all pairs and the sign choices that give them."""
        rows = assign(values)
        return cls(rows, np.take_along_axis(chosen, rows[..., None], -1)[..., 0], total(values, rows))

    def where(self, turned: np.ndarray, other: Matching) -> Matching:
        """This one, and the other for some of the permutations."""
        return Matching(
            np.where(turned[:, None], other.rows, self.rows),
            np.where(turned[:, None], other.numbers, self.numbers),
            np.where(turned, other.totals, self.totals),
        )


def matched(
    plan: Plan, name: str, grams: Grams, signs: tuple[str, ...], beside: Callable[[str], np.ndarray]
) -> tuple[Matching, list[Flip], float]:
    """The best matching of an index over some shared signs, the flips it takes, and what these gain beside.

    `grams` are by all the signs that act on a term; `beside` gives what flipping each value of a sign gains
    in terms that do not carry the index.
    """
    own = plan.own[name]
    found = Matching.of(*best_signs(grams, own))
    flips, gained = [], 0.0
    for sign in signs:
        turned = {pattern: -gram if sign in pattern else gram for pattern, gram in grams.items()}
        values, chosen = best_signs(turned, own)
        outside = beside(sign)
        # No permutation is worth more than the best of every row: mostly there is nothing to solve.
        most = values.max(-1).sum(-1, dtype=np.float64) - found.totals
        if np.all(_by_sign(plan, name, sign, most) + outside <= 0):
            continue
        other = Matching.of(values, chosen)
        flip = np.asarray(_by_sign(plan, name, sign, other.totals - found.totals) + outside > 0)
        if not np.any(flip):
            continue
        gained += float(outside[flip].sum())
        rows = _by_permutation(plan, name, sign, flip)
        found = found.where(rows, other)
        grams = {p: np.where(rows[:, None, None], turned[p], gram) for p, gram in grams.items()}
        flips.append(Flip(sign, np.where(flip, -1, 1).astype(np.int8).ravel()))
    return found, flips, gained


def _axes(plan: Plan, name: str, sign: str) -> list[int]:
    """Where the indices of a sign are among those on which an index depends."""
    outer = plan.over[name]
    return [outer.index(index) for index in plan.sign_over[sign] if index in outer]


def _by_sign(plan: Plan, name: str, sign: str, per_permutation: np.ndarray) -> np.ndarray:
    """Numbers for each permutation of an index, summed for each value of a sign."""
    axes, indices = _axes(plan, name, sign), plan.group.indices
    array = per_permutation.reshape(indices.shape(plan.over[name]))
    summed = np.asarray(array.sum(tuple(k for k in range(array.ndim) if k not in axes)))
    return np.reshape(summed.transpose(np.argsort(np.argsort(axes))), indices.shape(plan.sign_over[sign]))


def _by_permutation(plan: Plan, name: str, sign: str, per_sign: np.ndarray) -> np.ndarray:
    """Numbers for each value of a sign, repeated for each permutation of an index."""
    axes, shape = _axes(plan, name, sign), plan.group.indices.shape(plan.over[name])
    array = spread(per_sign.reshape([shape[k] for k in axes]), axes, len(shape))
    return np.broadcast_to(array, shape).ravel()
