"""The program as the symmetry analysis sees it: a flat list of steps on values.

Every primitive of a jaxpr becomes one or a few steps of five kinds.  In a `Link` the axes carry
labels, as in an einsum: axes with one label are aligned, a label missing from the result is reduced
away, one missing from an operand is broadcast.  Loops are unrolled once: a value inside a loop over
an axis has that axis too, hidden (`Value.loops`), so that what differs from step to step may have its own
symmetries at each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

from symbayes.symmetry.program.axes import Term
from symbayes.symmetry.program.laws import Law

Label = Hashable


@dataclass(eq=False)
class Loop:
    """The axis a scan runs over."""

    length: int
    axis: Term


@dataclass(eq=False)
class Value:
    """An array of the program: a parameter (with a path), a constant, an input, or a result."""

    shape: tuple[int, ...]
    dtype: Any
    constant: np.ndarray | None = None
    path: str | None = None
    data: bool = False
    loops: tuple[Loop, ...] = ()
    axes: list[Term] = field(default_factory=list)

    @property
    def numeric(self) -> bool:
        """Whether it can be scaled at all: integers and booleans cannot."""
        return jnp.issubdtype(self.dtype, jnp.inexact)


@dataclass(eq=False)
class Link:
    """An operation with labelled axes.

    `pins` says why a label's axes may not be permuted; `evaluate` computes an entry-wise operation.
    """

    law: Law
    ins: tuple[Value, ...]
    in_labels: tuple[tuple[Label | None, ...], ...]
    out: Value
    out_labels: tuple[Label, ...]
    pins: dict[Label, str] = field(default_factory=dict)
    evaluate: Callable[..., Any] | None = None


@dataclass(eq=False)
class Reshape:
    """A change of shape in row-major order; `blocks` aligns groups of axes, once these are known."""

    source: Value
    out: Value
    blocks: list[tuple[tuple[int, ...], tuple[Term, ...], tuple[int, ...]]] = field(default_factory=list)

    @property
    def ins(self) -> tuple[Value, ...]:
        return (self.source,)


def blocks(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The smallest groups of consecutive axes that hold as many entries before and after."""
    found = []
    i = j = 0
    while i < len(old) or j < len(new):
        ins, outs, a, b = [], [], 1, 1
        while not (ins or outs) or a != b:
            if (a <= b and i < len(old)) or j == len(new):
                ins.append(i)
                a *= old[i]
                i += 1
            else:
                outs.append(j)
                b *= new[j]
                j += 1
        found.append((tuple(ins), tuple(outs)))
    return found


@dataclass(eq=False)
class Concat:
    """Values one after the other along an axis."""

    ins: tuple[Value, ...]
    axis: int
    out: Value
    terms: tuple[Term, ...] = ()


@dataclass(eq=False)
class Slice:
    """A contiguous part of each axis: entries ``start`` to ``start + out.shape``."""

    source: Value
    starts: tuple[int, ...]
    out: Value

    @property
    def ins(self) -> tuple[Value, ...]:
        return (self.source,)


@dataclass(eq=False)
class Carry:
    """A value that is handed to the next step of a loop: it must be what the step was given."""

    source: Value
    out: Value

    @property
    def ins(self) -> tuple[Value, ...]:
        return (self.source,)


Step = Link | Reshape | Concat | Slice | Carry


@dataclass(eq=False)
class Program:
    """Steps in order, with the parameters by path, and the values that leave the program."""

    parameters: dict[str, Value]
    steps: list[Step]
    outputs: list[Value]

    def prune(self) -> None:
        """Drop the steps that no output depends on."""
        live = set(map(id, self.outputs))
        before = -1
        while len(live) != before:
            before = len(live)
            for step in reversed(self.steps):
                if id(step.out) in live:
                    live.update(id(value) for value in step.ins)
        self.steps = [step for step in self.steps if id(step.out) in live]
        self.live = live

    def uses(self, path: str) -> bool:
        return id(self.parameters[path]) in self.live
