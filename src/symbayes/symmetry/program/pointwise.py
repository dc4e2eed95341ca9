"""Functions of one variable that a program spells out in several steps.

A hard tanh is two selections, a GELU ten operations, and step by step nothing shows that the first is odd.
A chain of entry-wise operations on one value and constants is a function of one variable: it is evaluated
on a grid that reaches beyond every constant in it, and if it turns out odd, even or positively homogeneous,
one step with that law takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from symbayes.symmetry.program.laws import FIXED, FORGET, SAME, Law, Rule, weights
from symbayes.symmetry.program.program import Link, Program, Value

DEGREES = (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3))


@dataclass(frozen=True, eq=False)
class Chain:
    """A value as a function of another: the last step and its operands' chains (None for a constant)."""

    source: Value
    step: Link | None = None
    operands: tuple[Chain | None, ...] = ()

    def steps(self) -> list[Link]:
        below = [step for operand in self.operands if operand for step in operand.steps()]
        return list(dict.fromkeys(below + ([self.step] if self.step else [])))


def fuse(program: Program) -> None:
    """Replace the last step of every chain whose function has a parity or a degree that its steps do not
    show.
    """
    chains: dict[int, Chain] = {}
    ends: dict[int, int] = {}
    for n, step in enumerate(program.steps):
        chain = _extend(chains, step) if isinstance(step, Link) else None
        chains[id(step.out)] = chain or Chain(step.out)
        for value in step.ins:
            inner = chains.get(id(value))
            if inner and inner.step and (chain is None or chain.source is not inner.source):
                ends[id(value)] = n
    ends |= {id(value): -1 for value in program.outputs}
    for n, step in enumerate(program.steps):
        chain = chains[id(step.out)]
        if chain.step is not step or id(step.out) not in ends or not step.out.numeric:
            continue
        steps = chain.steps()
        precise = all(float(jnp.finfo(s.out.dtype).eps) < 1e-6 for s in steps if s.out.numeric)
        constant = any(value.constant is not None for found in steps for value in found.ins)
        if (len(steps) > 1 or constant) and precise and any(FIXED in found.law for found in steps):
            law = _law(chain, steps)
            if law != Law(FIXED, FIXED):
                labels = tuple(range(len(step.out.shape)))
                program.steps[n] = Link(law, (chain.source,), (labels,), step.out, labels)
    program.prune()


def _extend(chains: dict[int, Chain], step: Link) -> Chain | None:
    """The chain that a step continues, if all its operands are constants or functions of one value."""
    if step.evaluate is None:
        return None
    operands: list[Chain | None] = []
    for value in step.ins:
        if value.constant is not None:
            if value.constant.size == 0 or np.any(value.constant != value.constant.flat[0]):
                return None
            operands.append(None)
        elif value.shape != step.out.shape:
            return None
        else:
            operands.append(chains.get(id(value)) or Chain(value))
    sources = {id(operand.source): operand.source for operand in operands if operand}
    if len(sources) != 1:
        return None
    (source,) = sources.values()
    return Chain(source, step, tuple(operands)) if source.numeric and not source.data else None


def _law(chain: Chain, steps: list[Link]) -> Law:
    constants = [
        abs(float(value.constant.flat[0]))
        for step in steps
        for value in step.ins
        if value.constant is not None and value.numeric
    ]
    grid = np.concatenate([np.geomspace(1e-6, 1e6, 97), np.geomspace(1, 2, 7) * 1.01e9])
    near = [c * factor for c in constants if 0 < c < 1e30 for factor in (0.3, 0.9, 1.1, 3.0)]
    grid = np.concatenate([grid, near])
    tolerance = 1e3 * float(jnp.finfo(chain.source.dtype).eps)
    both = np.concatenate([grid, -grid])
    values = _evaluate(chain, both)
    plus, minus = np.split(values, 2)
    return Law(_degree(chain, both, values, tolerance), _parity(plus, minus, tolerance))


def _parity(plus: np.ndarray, minus: np.ndarray, tolerance: float) -> Rule:
    if _close(plus, -minus, tolerance):
        return SAME
    return FORGET if _close(plus, minus, tolerance) else FIXED


def _degree(chain: Chain, grid: np.ndarray, values: np.ndarray, tolerance: float) -> Rule:
    factor = 1.7
    larger = _evaluate(chain, factor * grid)
    for degree in DEGREES:
        if _close(larger, factor ** float(degree) * values, tolerance):
            return weights(degree)
    return FIXED


def _close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    """Equal up to rounding, and finite somewhere other than zero."""
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore"):  # an infinity less another
        same = np.where(finite, np.abs(a - b) <= tolerance * (np.abs(a) + np.abs(b)), a == b)
    return bool(np.all(same) and np.any(finite & (a != 0)))


def _evaluate(chain: Chain, grid: np.ndarray) -> np.ndarray:
    known: dict[int, Any] = {}

    def value_of(part: Chain) -> Any:
        if part.step is None:
            return jnp.asarray(grid, part.source.dtype)
        step = part.step
        if id(step) not in known:
            assert step.evaluate is not None
            arguments = [
                jnp.full(grid.shape, value.constant.flat[0], value.dtype)
                if operand is None and value.constant is not None
                else value_of(operand or part)
                for operand, value in zip(part.operands, step.ins, strict=True)
            ]
            known[id(step)] = step.evaluate(*arguments)
        return known[id(step)]

    return np.asarray(value_of(chain), np.float64)
