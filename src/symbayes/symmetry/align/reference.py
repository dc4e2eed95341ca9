"""Alignment by ascent: to a reference, every draw by itself, or jointly."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from symbayes import trees
from symbayes.draws import Draws
from symbayes.symmetry.align.criterion import Found
from symbayes.symmetry.align.joint import joint
from symbayes.symmetry.align.starts import best_match
from symbayes.symmetry.canonical.scales import log_scales, log_scales_of_one
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.frame import Frame, Plan
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.stack import Elements, Stack


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
    scale: str | None,
    stack: Stack,
    plan: Plan,
    reference: Mapping[str, np.ndarray] | None,
    restarts: int,
    seed: int,
    notes: tuple[str, ...] = (),
) -> Found:
    """Elements by coordinate ascent: to the reference, or without one jointly."""
    if reference is None:
        return Found(*joint(scale, stack, plan, restarts, seed), notes)
    return Found(*to_reference(scale, stack, plan, reference, restarts, seed), notes)


def to_reference(
    scale: str | None,
    stack: Stack,
    plan: Plan,
    reference: Mapping[str, np.ndarray],
    restarts: int,
    seed: int,
) -> tuple[Element, np.ndarray]:
    """One element per draw, each the best of its starts, and the objective before and after."""
    scales = log_scales_of_one(scale, plan.group, reference)
    target = Frame.at_scales(plan, reference, scales).arrays
    found = Elements(stack)

    def best(task: tuple[int, dict[str, np.ndarray], dict[str, np.ndarray]]) -> tuple[float, float]:
        number, flat, logs = task
        frame = Frame.at_scales(plan, flat, logs)
        ascent = best_match(plan, target, frame, restarts, (seed, number))
        found[number] = ascent.frame.element().without_scales(scales)
        before = sum(
            float(np.sum(r * v, dtype=np.float64)) for r, v in zip(target, frame.arrays, strict=True)
        )
        return before, ascent.objective()

    objective = np.zeros(2)
    with ThreadPoolExecutor() as threads:
        for ids, flat in stack.blocks():
            logs = log_scales(scale, plan.group, flat)
            tasks = ((int(i), trees.index(flat, k), trees.index(logs, k)) for k, i in enumerate(ids))
            objective += np.sum(list(threads.map(best, tasks)), axis=0)
    return found.batch(), objective
