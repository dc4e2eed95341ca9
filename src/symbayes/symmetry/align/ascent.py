"""Coordinate ascent on the inner product of a network with a reference, over permutations and signs.

One step moves one index: its Gram matrix sums ``<r[i], v[j]>`` over all terms and axes that carry it, with
the network v as it stands, and a linear assignment finds the best permutation and its signs together
(Ainsworth, Hayase, Srinivasa 2023, for permutations); a sign that all units share is tried both ways.  Gram
matrices are kept until a neighbour moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from symbayes.symmetry.align import nested
from symbayes.symmetry.align.shared import matched
from symbayes.symmetry.align.steps import Flip, Reorder, Step
from symbayes.symmetry.align.swaps import disjoint_exchanges, exchange_gains
from symbayes.symmetry.group.frame import Frame, Place, Plan
from symbayes.symmetry.group.patterns import Pattern

TOLERANCE = 5e-7
"""What a step must gain, relative to the norms of the terms it moves: more than float32 rounds."""

EXCHANGES = 50
"""Rounds of exchanging pairs in one step of an index on two axes."""


@dataclass
class Ascent:
    """A network on its way to a reference."""

    plan: Plan
    reference: Sequence[np.ndarray]
    frame: Frame
    grams: dict[tuple[int, int], np.ndarray] = field(default_factory=dict, init=False)
    pending: set[str] = field(init=False)
    """The steps that may gain something."""
    least: dict[str, float] = field(init=False)
    """What each step must gain."""
    steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.pending = set(self.plan.touched)
        norms = [
            float(np.linalg.norm(r) * np.linalg.norm(v))
            for r, v in zip(self.reference, self.frame.arrays, strict=True)
        ]
        self.least = {
            name: TOLERANCE * sum(norms[k] for k in terms) for name, terms in self.plan.touched.items()
        }

    def run(self, rounds: int | None = None) -> None:
        """Steps until none gains anything, or for so many rounds over all indices and signs."""
        while self.pending and rounds != 0:
            rounds = None if rounds is None else rounds - 1
            for members in self.plan.classes:
                todo = [name for name in members if name in self.pending]
                self.pending.difference_update(todo)
                self.take_all(
                    list(_threads().map(self.propose, todo)) if len(todo) > 1 else map(self.propose, todo)
                )
            for sign in self.plan.sign_over:
                if f"sign/{sign}" in self.pending:
                    self.pending.discard(f"sign/{sign}")
                    self.take(self.propose_signs(sign))

    def objective(self, terms: Iterable[int] | None = None) -> float:
        """The inner product over some terms, or all."""
        found = range(len(self.reference)) if terms is None else terms
        return sum(float(np.sum(self.reference[k] * self.frame.arrays[k], dtype=np.float64)) for k in found)

    # ------------------------------------------------------------------ permutations

    def propose(self, name: str, among: Set[int] | None = None, held: bool = False) -> Step:
        """The best permutation and signs of one index, with the others as they stand.

        Only the terms `among` count, if given; where signs are `held`, those that units share stay.
        """
        if self.plan.dependants[name] and not self.plan.over[name] and among is None:
            return nested.propose(self.plan, self.reference, self.frame, name, self.gram)
        grams = self.patterns(name, among)
        if not grams:
            return Step(name)

        def beside(sign: str) -> np.ndarray:
            terms = self.plan.touched[f"sign/{sign}"] - self.plan.touched[name]
            return self.flip_gains(sign, terms if among is None else terms & among)

        here = sum(float(np.trace(gram, axis1=-2, axis2=-1).sum(dtype=np.float64)) for gram in grams.values())
        signs = () if held else self.plan.shared[name]
        found, flips, gained = matched(self.plan, name, grams, signs, beside)
        gain = float(found.totals.sum()) + gained - here
        return Step(name, gain, [*flips, Reorder(self.plan, name, found.rows, found.numbers)])

    def patterns(self, name: str, among: Set[int] | None = None) -> dict[Pattern, np.ndarray]:
        """The Gram matrices of an index, summed over the places where the same signs act."""
        found: dict[Pattern, Any] = defaultdict(lambda: 0)
        for place in self.plan.places[name]:
            if among is None or place.term in among:
                pattern = place.pattern | place.shared
                found[pattern] = found[pattern] + self.gram(name, place)
        return dict(found)

    def gram(self, name: str, place: Place) -> np.ndarray:
        """``<r[i], v[j]>`` for all units i, j, one matrix for each value of what the index depends on."""
        key = (place.term, place.axis)
        if key not in self.grams:
            names = self.plan.terms[place.term].names
            batch = [names.index(other) for other in self.plan.over[name]]
            self.grams[key] = gram(
                self.reference[place.term], self.frame.arrays[place.term], place.axis, batch
            )
        return self.grams[key]

    # ------------------------------------------------------------------ signs

    def propose_signs(self, sign: str) -> Step:
        """Flip every sign that gains by it."""
        gains = self.flip_gains(sign)
        flips = np.where(gains > 0, -1, 1).ravel()
        return Step(f"sign/{sign}", float(gains[gains > 0].sum()), [Flip(sign, flips)])

    def flip_gains(self, sign: str, terms: Set[int] | None = None) -> np.ndarray:
        """What flipping each value of a sign alone gains, in some of its terms or all."""
        shape = self.frame.signs[sign].shape
        gains = np.zeros(shape)
        for k in self.plan.touched[f"sign/{sign}"] if terms is None else terms:
            product = (self.reference[k] * self.frame.arrays[k]).astype(np.float64)
            acting = [s.places for s in self.plan.terms[k].signs if s.name == sign]
            for unit in _units_once(product, acting, shape):
                gains -= 2 * unit
        return gains

    # ------------------------------------------------------------------ taking steps

    def take_all(self, steps: Iterable[Step]) -> None:
        """Take steps of indices that share no term, which know nothing of one another."""
        before, flipped = self.steps, False
        for proposed in steps:
            step = proposed
            # A sign that they share reaches the terms of others.
            if flipped or (len(step.moves) > 1 and self.steps > before):
                step = self.propose(step.name)
            flipped |= self.take(step) and len(step.moves) > 1

    def take(self, step: Step) -> bool:
        """Do what was proposed, if it gains anything; where the Gram matrices may be wrong, look first."""
        name = step.name
        if step.moves <= self.plan.exact:
            if step.gain <= self.required(step):
                return False
            self.do(step)
            return True
        taken = step.gain > self.required(step) and self.attempt(step)
        if not taken and len(step.moves) > 1:
            taken = self.attempt(self.propose(name, held=True))
        if name in self.plan.quadratic and not self.plan.over[name]:
            taken |= self.exchange(name)
        elif name.startswith("sign/") and not taken:
            taken = self.flip_best(name.removeprefix("sign/"))
        return taken

    def required(self, step: Step) -> float:
        """What a step must gain."""
        return sum(self.least[name] for name in step.moves)

    def do(self, step: Step) -> None:
        step.apply(self.frame)
        self.moved(step)

    def attempt(self, step: Step) -> bool:
        """Take a step, and go back if the objective did not rise."""
        # A step of an index takes along those that depend on it, and they share its terms.
        terms = self.plan.touched_by(step.moves)
        before, old = self.objective(terms), self.frame
        self.frame = old.copy()
        step.apply(self.frame)
        if self.objective(terms) - before > self.required(step):
            self.moved(step)
            return True
        self.frame = old
        return False

    def exchange(self, name: str) -> bool:
        """Exchange pairs of units while that gains anything."""
        moved = False
        for _ in range(EXCHANGES):
            pairs = disjoint_exchanges(self.exchanges(name), self.least[name])
            # Pairs that gain one by one need not gain together; the best pair alone does.
            tries = [pairs, pairs[:1]] if len(pairs) > 1 else [pairs] if pairs else []
            if not any(
                self.attempt(Step(name, parts=[Reorder.swapping(self.plan, name, some)])) for some in tries
            ):
                break
            moved = True
        return moved

    def flip_best(self, sign: str) -> bool:
        """Flip the one sign that gains most."""
        gains = self.flip_gains(sign)
        flips = np.ones(gains.size, np.int8)
        flips[int(np.argmax(gains))] = -1
        return self.attempt(Step(f"sign/{sign}", parts=[Flip(sign, flips)]))

    def exchanges(self, name: str) -> np.ndarray:
        """The gain of every exchange of two units."""
        gradient = sum((self.gram(name, place)[0] for place in self.plan.places[name]), np.zeros(()))
        twice = []
        for k in self.plan.touched[name]:
            axes = [axis for axis, found in enumerate(self.plan.terms[k].names) if found == name]
            if len(axes) == 2:
                twice.append(
                    tuple(
                        np.moveaxis(array[k], axes, (0, 1)) for array in (self.reference, self.frame.arrays)
                    )
                )
        return exchange_gains(gradient.astype(np.float64), twice)

    def moved(self, step: Step) -> None:
        """Forget what a step made stale: Gram matrices of its terms, and steps that may gain again."""
        self.steps += 1
        name, terms = step.name, self.plan.touched_by(step.moves)
        kept = {key: gram for key, gram in self.grams.items() if key[0] not in terms}
        part = step.parts[0]
        best = step.moves == {name} and name in self.plan.exact
        if best and isinstance(part, Reorder):
            for place in self.plan.places[name]:
                key = (place.term, place.axis)
                if key in self.grams:
                    kept[key] = part.gram(self.grams[key], place)
        self.grams = kept
        again = {other for other, found in self.plan.touched.items() if found & terms}
        self.pending |= again - {name} if best else again


def gram(r: np.ndarray, v: np.ndarray, axis: int, batch: Sequence[int]) -> np.ndarray:
    """Inner products along an axis over all others, for each value of the batch axes (flattened)."""
    if r.ndim == 2 and not batch:
        return (r @ v.T if axis == 0 else r.T @ v)[None]
    order = (*batch, axis, *(k for k in range(r.ndim) if k != axis and k not in batch))
    shape = (int(np.prod([r.shape[k] for k in batch], dtype=int)), r.shape[axis], -1)
    r, v = r.transpose(order).reshape(shape), v.transpose(order).reshape(shape)
    return r @ v.swapaxes(1, 2)


def _units_once(
    product: np.ndarray, acting: Sequence[tuple[int, ...]], shape: tuple[int, ...]
) -> Iterable[np.ndarray]:
    """For every value of a sign, the sum of a term's entries on which it acts once.

    A sign that acts twice on an entry leaves it as it is: such entries are taken out.
    """
    for places in acting:
        rest = tuple(k for k in range(product.ndim) if k not in places)
        kept = product.sum(rest)
        yield np.reshape(kept.transpose(np.argsort(np.argsort(places))), shape)
    for k, first in enumerate(acting):
        for second in acting[k + 1 :]:
            labels = list(range(product.ndim))
            for a, b in zip(first, second, strict=True):
                labels[b] = labels[a]
            yield -2 * np.reshape(np.einsum(product, labels, [labels[p] for p in first]), shape)


@cache
def _threads() -> ThreadPoolExecutor:
    """Threads for steps; assignments have others, since a step waits for its assignments."""
    return ThreadPoolExecutor(thread_name_prefix="steps")
