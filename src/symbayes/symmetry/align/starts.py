"""Where an ascent begins: where the network stands, with its indices matched in sequence, or at random."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from symbayes.symmetry.align.ascent import Ascent
from symbayes.symmetry.group.frame import Frame, Plan
from symbayes.symmetry.group.terms import parents_first

TURNS = 16
"""The most signs that are tried both ways with everything matched anew."""


def best_match(
    plan: Plan, reference: Sequence[np.ndarray], frame: Frame, restarts: int, seed: Sequence[int]
) -> Ascent:
    """The highest of the climbs from so many starts."""
    climbs = [
        match(plan, reference, frame.copy(), start, np.random.default_rng((*seed, start)))
        for start in range(restarts)
    ]
    return turned(max(climbs, key=Ascent.objective))


def turned(ascent: Ascent) -> Ascent:
    """An ascent after each sign that belongs to no single unit was tried the other way.

    A sign of a whole stream decides the order of all that reads the stream: everything is matched anew for
    the other sign, which is kept if it ends higher.  One sign after the other, so that many cost as many
    climbs and not all their combinations; of more than `TURNS`, those with the fewest values.
    """
    for sign, value in ascent.plan.lone[:TURNS]:
        other = Ascent(ascent.plan, ascent.reference, ascent.frame.copy())
        flips = np.ones(other.frame.signs[sign].size, np.int8)
        flips[value] = -1
        other.frame.flip(sign, flips)
        in_sequence(other, held=True)
        other.run()
        if other.objective() > ascent.objective() + ascent.least[f"sign/{sign}"]:
            ascent = other
    return ascent


def match(
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


def best_start(ascent: Ascent) -> Ascent:
    """An ascent from where the network stands, or in sequence if that begins higher."""
    other = Ascent(ascent.plan, ascent.reference, ascent.frame.copy())
    in_sequence(other)
    return other if other.objective() > ascent.objective() else ascent


def at_random(ascent: Ascent, rng: np.random.Generator) -> None:
    """Random permutations and signs."""
    frame = ascent.frame
    for name in parents_first(ascent.plan.over):
        rows = frame.labels[name].reshape(-1, frame.labels[name].shape[-1])
        frame.move(name, rng.permuted(np.broadcast_to(np.arange(rows.shape[-1]), rows.shape), axis=-1))
    for name, signs in frame.signs.items():
        frame.flip(name, rng.choice(np.array([-1, 1], np.int8), signs.size))
    ascent.grams.clear()


def in_sequence(ascent: Ascent, rng: np.random.Generator | None = None, held: bool = False) -> None:
    """Indices matched one after the other: that of which most is known first, or in random order.

    Each is matched through those terms alone whose other indices are fixed or were matched before, as far as
    there are any: a neighbour in no order yet only adds noise.  `held` signs that units share stay.
    """
    plan = ascent.plan
    left = list(plan.over) if rng is None else [str(name) for name in rng.permutation(list(plan.over))]
    moving = [Counter(name for name in term.names if name in plan.over) for term in plan.terms]
    done: set[str] = set()

    def known(name: str) -> set[int]:
        """The terms in which no other index is in no order yet."""
        return {k for k, found in enumerate(moving) if found.keys() - done <= {name} and found[name] < 2}

    def evidence(name: str) -> int:
        """How many weights of an index are known; in random order, whether any are."""
        found = known(name) & plan.touched[name]
        return sum(math.prod(plan.terms[k].shape) for k in found) if rng is None else int(bool(found))

    while left:
        outer = min(len(plan.over[name]) for name in left)
        name = max((name for name in left if len(plan.over[name]) == outer), key=evidence)
        step = ascent.propose(name, known(name) if evidence(name) else None, held)
        if step.parts:
            ascent.do(step)
        done.add(name)
        left.remove(name)
