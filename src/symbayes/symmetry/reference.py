"""Alignment by ascent: to a reference, every draw by itself, or jointly."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from symbayes import trees
from symbayes.draws import Draws
from symbayes.symmetry.criterion import Found, Matcher
from symbayes.symmetry.element import Element
from symbayes.symmetry.frame import Frame, Plan
from symbayes.symmetry.group import Symmetry
from symbayes.symmetry.joint import joint
from symbayes.symmetry.stack import Elements, Stack


def reference_of(to: Draws | trees.Tree, group: Symmetry) -> dict[str, np.ndarray]:
    """The variables to align to, by name: those of a network, or the mean of draws."""
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


def climb(
    by: Matcher,
    stack: Stack,
    plan: Plan,
    reference: Mapping[str, np.ndarray] | None,
    restarts: int,
    seed: int,
    notes: tuple[str, ...] = (),
) -> Found:
    """Elements by coordinate ascent: to the reference, or without one jointly."""
    if reference is None:
        return Found(*joint(stack, plan, by, restarts, seed), notes)
    return Found(*to_reference(stack, plan, by, reference, restarts, seed), notes)


def to_reference(
    stack: Stack, plan: Plan, by: Matcher, reference: Mapping[str, np.ndarray], restarts: int, seed: int
) -> tuple[Element, np.ndarray]:
    """One element per draw, each the best of its starts, and the objective before and after."""
    ones = {name: leaf[None] for name, leaf in reference.items()}
    scales = {name: log[0] for name, log in by.log_scales(plan.group, ones).items()}
    still = plan.unmoved()
    start = Element(still.permutations, still.signs, scales)
    target = Frame.start(plan, plan.cut(reference), start).arrays
    found = Elements(stack)

    def best(task: tuple[int, dict[str, np.ndarray], dict[str, np.ndarray]]) -> tuple[float, float]:
        number, flat, logs = task
        frame = Frame.start(plan, plan.cut(flat), Element(still.permutations, still.signs, logs))
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
            tasks = ((int(i), trees.index(flat, k), trees.index(logs, k)) for k, i in enumerate(ids))
            objective += np.sum(list(threads.map(best, tasks)), axis=0)
    return found.batch(), objective
