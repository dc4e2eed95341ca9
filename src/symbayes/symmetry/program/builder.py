"""Building a `Program`: what the rules of the primitives use to write steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from symbayes.symmetry.program.laws import LINEAR, OPAQUE, Law
from symbayes.symmetry.program.program import Concat, Label, Link, Reshape, Slice, Step, Value


def loops_of(values: Iterable[Value]) -> tuple:
    """The loops that any of the values is inside of."""
    return tuple(dict.fromkeys(loop for value in values for loop in value.loops))


class Builder:
    """Collects steps; every method writes one and returns its result."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def constant(self, array: Any) -> Value:
        array = np.asarray(array)
        return Value(array.shape, array.dtype, constant=array, data=True)

    def result(self, shape: Sequence[int], dtype: Any, ins: Sequence[Value]) -> Value:
        data = all(value.data for value in ins)
        return Value(tuple(map(int, shape)), dtype, data=data, loops=loops_of(ins))

    def link(
        self,
        law: Law,
        ins: Sequence[Value],
        in_labels: Sequence[Sequence[Label | None]],
        out_labels: Sequence[Label],
        shape: Sequence[int],
        dtype: Any,
        pins: Mapping[Any, str] | None = None,
    ) -> Value:
        out = self.result(shape, dtype, ins)
        labels = tuple(map(tuple, in_labels))
        self.steps.append(Link(law, tuple(ins), labels, out, tuple(out_labels), dict(pins or {})))
        return out

    def elementwise(
        self,
        law: Law,
        ins: Sequence[Value],
        shape: Sequence[int],
        dtype: Any,
        evaluate: Callable[..., Any] | None = None,
    ) -> Value:
        """Axes are aligned by position; a scalar or an axis of size one is broadcast."""
        labels = [[k if n == shape[k] else None for k, n in enumerate(value.shape)] for value in ins]
        out = self.link(law, ins, labels, range(len(shape)), shape, dtype)
        step = self.steps[-1]
        assert isinstance(step, Link)
        step.evaluate = evaluate
        return out

    def opaque(self, ins: Sequence[Value], shape: Sequence[int], dtype: Any, reason: str) -> Value:
        """An operation that is not understood: nothing may move, nothing may be scaled."""
        in_labels = [[(i, k) for k in range(len(value.shape))] for i, value in enumerate(ins)]
        out_labels = [("out", k) for k in range(len(shape))]
        pins = dict.fromkeys([label for labels in in_labels for label in labels] + out_labels, reason)
        return self.link(OPAQUE, ins, in_labels, out_labels, shape, dtype, pins)

    def relabel(self, value: Value, order: Sequence[int | None], shape: Sequence[int]) -> Value:
        """The axes in another order; None is a new axis along which nothing varies."""
        labels = [k if k in order else None for k in range(len(value.shape))]
        out_labels = [("new", i) if k is None else k for i, k in enumerate(order)]
        return self.link(LINEAR, [value], [labels], out_labels, shape, value.dtype)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        out = self.result(shape, value.dtype, [value])
        self.steps.append(Reshape(value, out))
        return out

    def split_axis(self, value: Value, axis: int, sizes: Sequence[int]) -> Value:
        """One axis as several, in row-major order."""
        assert math.prod(sizes) == value.shape[axis]
        return self.reshape(value, [*value.shape[:axis], *sizes, *value.shape[axis + 1 :]])

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        values = [value for value in values if value.shape[axis]] or values[:1]
        shape = list(values[0].shape)
        shape[axis] = sum(value.shape[axis] for value in values)
        out = self.result(shape, values[0].dtype, values)
        self.steps.append(Concat(tuple(values), axis, out))
        return out

    def slice(self, value: Value, starts: Sequence[int], shape: Sequence[int]) -> Value:
        out = self.result(shape, value.dtype, [value])
        self.steps.append(Slice(value, tuple(map(int, starts)), out))
        return out

    def along(
        self, law: Law, value: Value, axes: Iterable[int], shape: Sequence[int], dtype: Any, reason: str
    ) -> Value:
        """An operation that mixes the entries of some axes in an order that matters, and keeps the others."""
        axes = set(axes)
        labels = [("in", k) if k in axes else k for k in range(len(value.shape))]
        out_labels = [("out", k) if k in axes else k for k in range(len(shape))]
        pins = {label: reason for label in [*labels, *out_labels] if isinstance(label, tuple)}
        return self.link(law, [value], [labels], out_labels, shape, dtype, pins)


Rule = Callable[[Builder, Any, list[Value]], list[Value]]
"""Writes the steps of one equation of a jaxpr on these operands, and gives its results."""
