"""Joint alignment: every draw near all others.

Since ``sum_{i<j} <w_i, w_j> = (|sum_i w_i|^2 - sum_i |w_i|^2) / 2`` and an element keeps |w_i|, matching one
network after the other to the sum of the rest climbs the all-pairs objective; a sweep costs as much as
matching every network once, and the elements are consistent around every cycle.

A network is not matched to the end while the others still move: all begin roughly near one of them, which
commits them to little, and a sweep gives each one round of steps.  Signs that belong to no single unit (of a
whole residual stream) are tried both ways when the sweeps have ended, with everything else matched anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from symbayes import trees
from symbayes.symmetry.align.ascent import Ascent
from symbayes.symmetry.align.starts import in_sequence, turned
from symbayes.symmetry.canonical.scales import log_scales_of_all
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.frame import Frame, Plan
from symbayes.symmetry.group.stack import Elements, Stack

SWEEPS = 100
TOLERANCE = 1e-3
"""A sweep that gains less than this, relative to all that was gained, is the last."""
WAVES, TOGETHER = 8, 16
"""A sweep has at least so many waves; in each, at most so many networks move at once."""

Network = tuple[int, dict[str, np.ndarray]]
"""A network's number and its parameters."""


def joint(
    scale: str | None, stack: Stack, plan: Plan, restarts: int, seed: int
) -> tuple[Element, np.ndarray]:
    """One element per draw that brings all draws near one another, and how the objective rose."""
    start = stack.elements(log_scales=log_scales_of_all(scale, stack))
    climbs = []
    # One thread for each network serves better than many for each product of matrices.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor() as threads:
        for restart in range(restarts):
            rng = np.random.default_rng((seed, restart)) if restart else None
            climb = _JointClimb(stack, plan, Elements(stack, start), threads, rng)
            climb.run()
            climbs.append(climb)
    best = max(climbs, key=lambda climb: climb.history[-1])
    return best.elements.batch(), np.array(best.history)


Climb = Callable[[Ascent], Ascent]


def _one_round(ascent: Ascent) -> Ascent:
    ascent.run(rounds=1)
    return ascent


class _JointClimb:
    """All networks on their way to one another; only their elements and their sum are kept."""

    def __init__(
        self,
        stack: Stack,
        plan: Plan,
        elements: Elements,
        threads: ThreadPoolExecutor,
        rng: np.random.Generator | None,
    ):
        self.stack, self.plan, self.elements, self.threads, self.rng = stack, plan, elements, threads, rng
        self.total = self.zeros()
        self.squares = 0.0
        for wave in self.waves():
            for frame in threads.map(self.frame, wave):
                self.add(frame)
                self.squares += _square(frame.arrays)
        self.history = [self.objective()]

    def zeros(self) -> list[np.ndarray]:
        return [np.zeros(term.shape) for term in self.plan.terms]

    def add(self, frame: Frame) -> None:
        for total, array in zip(self.total, frame.arrays, strict=True):
            total += array

    def subtract(self, frame: Frame) -> None:
        for total, array in zip(self.total, frame.arrays, strict=True):
            total -= array

    def objective(self) -> float:
        """``sum_{i<j} <w_i, w_j>``."""
        return (_square(self.total) - self.squares) / 2

    def waves(self) -> Iterator[list[Network]]:
        """All networks, some at a time."""
        size = min(TOGETHER, max(1, self.stack.count // WAVES))
        for ids, flat in self.stack.blocks():
            order = np.arange(len(ids)) if self.rng is None else self.rng.permutation(len(ids))
            for start in range(0, len(ids), size):
                yield [(int(ids[k]), trees.index(flat, int(k))) for k in order[start : start + size]]

    def frame(self, network: Network) -> Frame:
        """A network where it stands."""
        number, flat = network
        return Frame.start(self.plan, self.plan.cut(flat), self.elements[number])

    def run(self) -> None:
        self.gather()
        self.sweep()
        while self.plan.lone and self.sweep(turned, most=1):
            self.sweep()

    def sweep(self, climb: Climb = _one_round, most: int = SWEEPS) -> bool:
        """Let every network climb by turns until that gains little; whether the last sweep gained more."""
        for _ in range(most):
            changed = sum(self.advance(wave, climb) for wave in self.waves())
            self.history.append(self.objective())
            gained = self.history[-1] - self.history[-2]
            if not changed or gained <= TOLERANCE * (self.history[-1] - self.history[0]):
                return False
        return True

    def gather(self) -> None:
        """Match each network to one of them, in sequence; kept if that is better than no alignment."""
        apart, parts = self.total, self.elements.copy()
        self.total = self.zeros()
        first: list[np.ndarray] = []

        def match(network: Network) -> Frame:
            ascent = Ascent(self.plan, first, self.frame(network))
            in_sequence(ascent)
            return ascent.frame

        for wave in self.waves():
            if not first:
                frame = self.frame(wave.pop(0))
                first = frame.arrays
                self.add(frame)
            for (number, _), frame in zip(wave, self.threads.map(match, wave), strict=True):
                self.elements[number] = frame.element()
                self.add(frame)
        if self.objective() < self.history[-1]:
            self.total, self.elements = apart, parts
        self.history.append(self.objective())

    def advance(self, networks: Sequence[Network], climb: Climb = _one_round) -> bool:
        """Each climbs, mostly one round of steps, towards the sum of the others; whether any moved.

        Networks that climb at once know nothing of one another, and may lose together what each alone gains.
        So they move one after the other, and only those that still gain by it.
        """
        moved = False
        # All have climbed before one moves: the sum that they climb towards must not change under them.
        climbed = list(self.threads.map(partial(self.climb, climb), networks))
        for number, old, new in filter(None, climbed):
            if self.gain(old, new) > 0:
                self.subtract(old)
                self.add(new)
                self.elements[number] = new.element()
                moved = True
        return moved

    def gain(self, old: Frame, new: Frame) -> float:
        """What the objective gains if a network moves: ``<sum of the others, new - old>``."""
        return sum(
            float(np.vdot(total - before, np.subtract(after, before, dtype=np.float64)))
            for total, before, after in zip(self.total, old.arrays, new.arrays, strict=True)
            if after is not before
        )

    def climb(self, climb: Climb, network: Network) -> tuple[int, Frame, Frame] | None:
        """A network's number, and where it stands before and after a climb, if it moves."""
        old = self.frame(network)
        rest = [
            np.subtract(total, array, out=np.empty_like(array), casting="same_kind")
            for total, array in zip(self.total, old.arrays, strict=True)
        ]
        ascent = climb(Ascent(self.plan, rest, old.copy()))
        return (network[0], old, ascent.frame) if ascent.steps else None


def _square(arrays: Sequence[np.ndarray]) -> float:
    return sum(float(np.sum(np.square(array, dtype=np.float64))) for array in arrays)
