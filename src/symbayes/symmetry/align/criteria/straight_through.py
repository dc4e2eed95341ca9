"""Matching networks by the loss half-way between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from symbayes import trees
from symbayes.symmetry.align.criterion import Found
from symbayes.symmetry.align.joint import joint
from symbayes.symmetry.align.starts import match, turned
from symbayes.symmetry.canonical.scales import log_scales, log_scales_of_all, log_scales_of_one, require_scale
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.frame import Frame, Plan
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.stack import Elements, Stack

SWEEPS = 10
"""The most sweeps over all draws, jointly."""

Flat = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class StraightThrough:
    """Minimise the loss at the midpoint of a network and a reference, ``L((r + g w) / 2)``.

    Free weights t start at the reference.  Each step projects them onto the group, ``g = argmax <t, g w>`` by
    weight matching, takes the gradient of the loss at the midpoint with respect to g w, and moves t by it as
    if the projection were not there (straight-through estimator: Ainsworth, Hayase, Srinivasa 2023, section
    3.3).  The best element seen is kept: it is never worse than weight matching or than no alignment.

    `loss` is a differentiable function of one network's variables.  Steps are Adam's, and `learning_rate` is
    relative to the root mean square of each parameter array.  The objective is minus the mean of the midpoint
    losses over draws.  Jointly the reference of each draw is the mean of the others, as they stand when its
    turn comes; a sweep that does not lower the mean of the losses is undone and the last.
    """

    loss: Callable[[trees.Tree], jax.Array]
    steps: int = 50
    learning_rate: float = 0.2
    scale: str | None = "minimal-mass"

    def __post_init__(self) -> None:
        require_scale(self.scale)
        if self.steps < 1:
            raise ValueError(f"steps is at least 1, not {self.steps}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate is positive, not {self.learning_rate}")

    def elements(
        self, stack: Stack, reference: Mapping[str, np.ndarray] | None, restarts: int, seed: int
    ) -> Found:
        descent = _Descent(self, Plan(stack.group))
        if reference is None:
            return _jointly(descent, stack, restarts, seed)
        return _to_reference(descent, stack, reference, restarts, seed)


@dataclass(frozen=True)
class _Descent:
    """What the descents of all draws share; one compiled function serves every step of each."""

    criterion: StraightThrough
    plan: Plan

    @property
    def group(self) -> Symmetry:
        return self.plan.group

    @cached_property
    def optimizer(self) -> optax.GradientTransformation:
        return optax.adam(self.criterion.learning_rate)

    @cached_property
    def move(self) -> Callable[[Element, Flat], dict[str, jax.Array]]:
        """The variables after an element, by name."""
        return jax.jit(lambda element, flat: trees.flatten(self.group.act(element, trees.unflatten(flat))))

    @cached_property
    def midpoint(self) -> Callable[[Flat, Flat], jax.Array]:
        """The loss half-way between two networks."""

        def midpoint(one: Flat, two: Flat) -> jax.Array:
            half = {name: (leaf + two[name]) / 2 for name, leaf in one.items()}
            return self.criterion.loss(trees.variables(half))

        return jax.jit(midpoint)

    @cached_property
    def step(self) -> Callable[..., Any]:
        """The loss at the midpoint, and the free weights after a step."""

        @jax.jit
        def step(element: Element, flat: Flat, reference: Flat, free: Flat, state: Any) -> Any:
            moved = trees.flatten(self.group.act(element, trees.unflatten(flat)))
            loss, gradient = jax.value_and_grad(self.midpoint)(moved, reference)
            updates, state = self.optimizer.update(gradient, state)
            sizes = {name: jnp.sqrt(jnp.mean(jnp.square(leaf))) for name, leaf in reference.items()}
            return loss, optax.apply_updates(free, jax.tree.map(jnp.multiply, sizes, updates)), state

        return step

    def require_number(self, flat: Flat) -> None:
        found = jax.eval_shape(self.criterion.loss, trees.variables(dict(flat)))
        if getattr(found, "shape", None) != ():
            raise ValueError(f"loss gives one number for a network's variables, not {found}")

    def loss(self, frame: Frame, flat: Flat, reference: Flat) -> float:
        """The loss half-way to a reference from where a frame stands; infinite if it is not a number."""
        return _finite(self.midpoint(self.move(frame.element(), flat), reference))

    def best(self, frames: Sequence[Frame], flat: Flat, reference: Flat) -> tuple[float, Frame]:
        """Descend from the best of some frames; the smallest loss on the way, and where it was."""
        losses = [self.loss(frame, flat, reference) for frame in frames]
        lowest = int(np.argmin(losses))
        if not np.isfinite(losses[lowest]):
            raise ValueError(
                "the loss at the midpoint of two networks is not finite: check loss and its data"
            )
        least, best = losses[lowest], frames[lowest]
        frame, free = best, dict(reference)
        state = self.optimizer.init(free)
        for _ in range(self.criterion.steps):
            element = frame.element()
            loss, free, state = self.step(element, flat, reference, free, state)
            if _finite(loss) < least:
                least, best = _finite(loss), frame
            target = self.plan.cut({name: np.asarray(leaf) for name, leaf in free.items()})
            if not all(np.all(np.isfinite(array)) for array in target):
                break
            frame = match(self.plan, target, frame.copy()).frame
        last = self.loss(frame, flat, reference)
        return (last, frame) if last < least else (least, best)

    def start(self, flat: Mapping[str, np.ndarray], element: Element) -> Frame:
        return Frame.start(self.plan, self.plan.cut(flat), element)


def _finite(loss: Any) -> float:
    return float(loss) if np.isfinite(loss) else np.inf


def _to_reference(
    descent: _Descent, stack: Stack, reference: Mapping[str, np.ndarray], restarts: int, seed: int
) -> Found:
    plan, scale = descent.plan, descent.criterion.scale
    scales = log_scales_of_one(scale, plan.group, reference)
    there = Frame.at_scales(plan, reference, scales)
    target, goal = there.arrays, descent.move(there.element(), dict(reference))
    descent.require_number(goal)
    found, total = Elements(stack), np.zeros(2)
    for ids, block in stack.blocks():
        logs = log_scales(scale, plan.group, block)
        for k, number in enumerate(map(int, ids)):
            flat = trees.index(block, k)
            frame = Frame.at_scales(plan, flat, trees.index(logs, k))
            frames = [frame]
            for restart in range(restarts):
                rng = np.random.default_rng((seed, number, restart))
                frames.append(turned(match(plan, target, frame.copy(), restart, rng)).frame)
            loss, best = descent.best(frames, flat, goal)
            found[number] = best.element().without_scales(scales)
            total += (descent.loss(frame, flat, goal), loss)
    return Found(found.batch(), -total / stack.count)


def _jointly(descent: _Descent, stack: Stack, restarts: int, seed: int) -> Found:
    scale = descent.criterion.scale
    apart = stack.elements(log_scales=log_scales_of_all(scale, stack))
    fleet = _Fleet(descent, stack, Elements(stack, apart))
    history = [fleet.loss]
    matched, _ = joint(scale, stack, descent.plan, restarts, seed)
    fleet = min(fleet, _Fleet(descent, stack, Elements(stack, matched)), key=lambda one: one.loss)
    history.append(fleet.loss)
    for _ in range(SWEEPS if stack.count > 1 else 0):
        swept = fleet.swept()
        if not swept.loss < fleet.loss:
            break
        fleet = swept
        history.append(fleet.loss)
    return Found(fleet.elements.batch(), -np.array(history))


@dataclass(frozen=True)
class _Fleet:
    """All networks where their elements take them."""

    descent: _Descent
    stack: Stack
    elements: Elements

    def networks(self) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        for ids, block in self.stack.blocks():
            for k, number in enumerate(map(int, ids)):
                yield number, trees.index(block, k)

    def moved(self, number: int, flat: Flat) -> dict[str, np.ndarray]:
        found = self.descent.move(self.elements[number], flat)
        return {name: np.asarray(leaf) for name, leaf in found.items()}

    @cached_property
    def total(self) -> dict[str, np.ndarray]:
        """The sum of all networks."""
        total: dict[str, Any] = {}
        for number, flat in self.networks():
            for name, leaf in self.moved(number, flat).items():
                total[name] = total.get(name, 0.0) + leaf.astype(np.float64)
        return total

    def others(self, here: Flat, total: Flat) -> dict[str, np.ndarray]:
        """The mean of all networks but one."""
        count = self.stack.count - 1
        return {
            name: ((total[name] - leaf) / count if count else leaf).astype(np.float32)
            for name, leaf in here.items()
        }

    @cached_property
    def loss(self) -> float:
        """The mean over networks of the loss half-way to the mean of the others."""
        losses = []
        for number, flat in self.networks():
            here = self.moved(number, flat)
            if not losses:
                self.descent.require_number(here)
            losses.append(_finite(self.descent.midpoint(here, self.others(here, self.total))))
        return float(np.mean(losses))

    def swept(self) -> _Fleet:
        """The networks after each was matched to the mean of the others."""
        fleet = _Fleet(self.descent, self.stack, self.elements.copy())
        total = dict(self.total)
        for number, flat in fleet.networks():
            here = fleet.moved(number, flat)
            frame = self.descent.start(flat, fleet.elements[number])
            _, best = self.descent.best([frame], flat, fleet.others(here, total))
            fleet.elements[number] = best.element()
            there = fleet.moved(number, flat)
            total = {name: leaf - here[name] + there[name] for name, leaf in total.items()}
        return fleet
