"""Aligning draws: one element of the group for each, so that all lie near a reference or near one another.

Jointly, since ``sum_{i<j} <w_i, w_j> = (|sum_i w_i|^2 - sum_i |w_i|^2) / 2`` and an element keeps |w_i|,
matching one network after the other to the sum of the rest climbs the all-pairs objective; a sweep costs as
much as matching every network once, and the elements are consistent around every cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbayes import trees
from symbayes.draws import Draws
from symbayes.symmetry.element import Element
from symbayes.symmetry.frame import Frame, Plan
from symbayes.symmetry.group import Symmetry
from symbayes.symmetry.stack import Elements, Stack
from symbayes.symmetry.weights import Weights

SWEEPS = 100
TOLERANCE = 5e-4
"""A sweep that gains less than this, relative to all that was gained, is the last."""


@dataclass(frozen=True)
class Alignment:
    """Aligned draws and their elements (it unpacks into these two), and how the objective rose.

    `objective` starts with that of the draws in their own order.  To a reference r it is ``sum_i <r, w_i>``,
    before and after; jointly it is ``sum_{i<j} <w_i, w_j>``, before and after every sweep.  Networks are
    compared after their scales were removed.  `control` is the alignment of the null control.
    """

    draws: Draws | trees.Tree
    elements: Element
    objective: np.ndarray
    control: Alignment | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.draws, self.elements))


def align(
    draws: Draws | trees.Tree,
    group: Symmetry,
    to: str | Draws | trees.Tree = "joint",
    by: Weights | None = None,
    restarts: int = 1,
    seed: int = 0,
    control: Draws | trees.Tree | None = None,
) -> Alignment:
    """Move every draw by an element of the group, so that weights can be compared across draws.

    `draws` are draws, or a tree with one leading axis.  `to` is ``"joint"``, the variables of one network, or
    draws whose mean is the reference.  Aligned to a reference, draws take its scales; aligned jointly, those
    of `by`.  The first of the `restarts` begins from the draws as they are, the others elsewhere; the best
    is kept.  `control` takes draws of pure noise (of the prior), which are aligned in the same way:
    whatever alignment does to these is no evidence.
    """
    by = Weights() if by is None else by
    if restarts < 1:
        raise ValueError(f"restarts counts the starts, so it is at least 1, not {restarts}")
    if isinstance(to, str) and to != "joint":
        raise ValueError(f"to is 'joint', the variables of a network or draws, not {to!r}")
    stack, plan = Stack.of(draws, group), Plan(group)
    if isinstance(to, str):
        elements, objective = _joint(stack, plan, by, restarts, seed)
    else:
        elements, objective = _to_reference(stack, plan, by, _reference(to, group), restarts, seed)
    null = None if control is None else align(control, group, to, by, restarts, seed)
    return Alignment(stack.moved(elements), elements, objective, null)


def _reference(to: Draws | trees.Tree, group: Symmetry) -> dict[str, np.ndarray]:
    """The variables to align to, by name."""
    if isinstance(to, Draws):
        stack = Stack.of(to, group)
        total: dict[str, Any] = {}
        for _, flat in stack.blocks():
            total = {
                name: total.get(name, 0.0) + leaf.sum(0, dtype=np.float64) for name, leaf in flat.items()
            }
        return {name: (leaf / stack.count).astype(np.float32) for name, leaf in total.items()}
    flat = {name: np.asarray(leaf) for name, leaf in trees.flatten(to).items()}
    group.expect(flat)
    for name, leaf in flat.items():
        if not np.all(np.isfinite(leaf)):
            raise ValueError(f"the parameter {name!r} of the reference is not finite")
    return flat


def _one(flat: Mapping[str, np.ndarray], number: int) -> dict[str, np.ndarray]:
    return {name: leaf[number] for name, leaf in flat.items()}


def _to_reference(
    stack: Stack, plan: Plan, by: Weights, reference: Mapping[str, np.ndarray], restarts: int, seed: int
) -> tuple[Element, np.ndarray]:
    ones = {name: leaf[None] for name, leaf in reference.items()}
    scales = {name: log[0] for name, log in by.log_scales(plan.group, ones).items()}
    still = plan.unmoved()
    start = Element(still.permutations, still.signs, scales)
    target = Frame.start(plan, plan.cut(reference), start).arrays
    found = Elements(stack)

    def best(task: tuple[int, list[np.ndarray], dict[str, np.ndarray]]) -> tuple[float, float]:
        number, arrays, logs = task
        frame = Frame.start(plan, arrays, Element(still.permutations, still.signs, logs))
        climbs = []
        for restart in range(restarts):
            rng = np.random.default_rng((seed, number, restart))
            climbs.append(by.match(plan, target, frame.copy(), restart, rng))
        ascent = max(climbs, key=lambda climb: climb.objective())
        element = ascent.frame.element()
        # Into the scales of the reference: place by place, its own are undone.
        logs = {name: log - scales[name] for name, log in element.log_scales.items()}
        found[number] = Element(element.permutations, element.signs, logs)
        before = sum(
            float(np.sum(r * v, dtype=np.float64)) for r, v in zip(target, frame.arrays, strict=True)
        )
        return before, ascent.objective()

    objective = np.zeros(2)
    with ThreadPoolExecutor() as threads:
        for ids, flat in stack.blocks():
            logs = by.log_scales(plan.group, flat)
            tasks = ((int(i), plan.cut(_one(flat, k)), _one(logs, k)) for k, i in enumerate(ids))
            objective += np.sum(list(threads.map(best, tasks)), axis=0)
    return found.batch(), objective


def _joint(stack: Stack, plan: Plan, by: Weights, restarts: int, seed: int) -> tuple[Element, np.ndarray]:
    logs = {scale.name: np.zeros((stack.count, scale.size)) for scale in plan.group.scales}
    for ids, flat in stack.blocks():
        for name, found in by.log_scales(plan.group, flat).items():
            logs[name][ids] = found
    climbs = []
    for restart in range(restarts):
        rng = np.random.default_rng((seed, restart)) if restart else None
        climb = _JointClimb(stack, plan, by, Elements(stack, logs), rng)
        climb.run()
        climbs.append(climb)
    best = max(climbs, key=lambda climb: climb.history[-1])
    return best.elements.batch(), np.array(best.history)


class _JointClimb:
    """All networks on their way to one another; only their elements and their sum are kept."""

    def __init__(
        self, stack: Stack, plan: Plan, by: Weights, elements: Elements, rng: np.random.Generator | None
    ):
        self.stack, self.plan, self.by, self.elements, self.rng = stack, plan, by, elements, rng
        self.total = self.zeros()
        self.squares = 0.0
        for _, frame in self.frames():
            for total, array in zip(self.total, frame.arrays, strict=True):
                total += array
            self.squares += sum(float(np.sum(np.square(a, dtype=np.float64))) for a in frame.arrays)
        self.history = [self.objective()]

    def zeros(self) -> list[np.ndarray]:
        return [np.zeros(term.shape) for term in self.plan.terms]

    def objective(self) -> float:
        """``sum_{i<j} <w_i, w_j>``."""
        return (sum(float(np.sum(np.square(total))) for total in self.total) - self.squares) / 2

    def frames(self) -> Iterator[tuple[int, Frame]]:
        """Every network where it stands, with its number."""
        for ids, flat in self.stack.blocks():
            order = np.arange(len(ids)) if self.rng is None else self.rng.permutation(len(ids))
            for k in map(int, order):
                number = int(ids[k])
                yield number, Frame.start(self.plan, self.plan.cut(_one(flat, k)), self.elements[number])

    def run(self) -> None:
        self.gather()
        for _ in range(SWEEPS):
            changed = self.sweep()
            self.history.append(self.objective())
            gained = self.history[-1] - self.history[-2]
            if not changed or gained <= TOLERANCE * (self.history[-1] - self.history[0]):
                break

    def gather(self) -> None:
        """Match each network to the sum of those before; kept if that is better than no alignment."""
        apart = self.total
        parts = [{name: leaf.copy() for name, leaf in part.items()} for part in self.elements.parts]
        self.total = self.zeros()
        for n, (number, frame) in enumerate(self.frames()):
            if n:
                frame = self.by.match(self.plan, self.rounded(self.total), frame, 1, self.rng).frame
                self.elements[number] = frame.element()
            for total, array in zip(self.total, frame.arrays, strict=True):
                total += array
        if self.objective() < self.history[-1]:
            self.total, self.elements.parts = apart, parts
        self.history.append(self.objective())

    def sweep(self) -> bool:
        """Match each network to the sum of the others; whether any moved."""
        changed = False
        for number, frame in self.frames():
            rest = [total - array for total, array in zip(self.total, frame.arrays, strict=True)]
            ascent = self.by.match(self.plan, self.rounded(rest), frame)
            if ascent.steps:
                changed = True
                self.elements[number] = ascent.frame.element()
                self.total = [r + array for r, array in zip(rest, ascent.frame.arrays, strict=True)]
        return changed

    @staticmethod
    def rounded(arrays: list[np.ndarray]) -> list[np.ndarray]:
        return [array.astype(np.float32) for array in arrays]
