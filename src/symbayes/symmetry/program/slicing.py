"""Slicing before computing.

A fused projection is computed whole, its result reshaped to (3, heads, dimensions), and then cut into
query, key and value.  Read in that order, the three parts share one axis of dimensions and so one order.  A
part of a result is also the result on parts of the operands, and read in that order the kernel falls into
three that move each by itself.
"""

from __future__ import annotations

import dataclasses

from symbayes.symmetry.program.builder import Builder
from symbayes.symmetry.program.program import Concat, Link, Reshape, Slice, Step, Value, blocks

FARTHEST = 16
"""How many steps to look back from a slice."""


class Slicer:
    """Takes slices along one axis as far up the program as it can be done."""

    def __init__(self, builder: Builder):
        self.builder = builder
        self.producer: dict[int, Step] = {id(step.out): step for step in builder.steps}
        self.taken: dict[tuple[int, int, int, int], Value] = {}

    def worthwhile(self, value: Value, axis: int) -> bool:
        """Whether the axis comes, a few steps before, out of a reshape that divided another."""
        front, seen = [(value, axis)], set()
        for _ in range(FARTHEST):
            front = [place for place in front if (id(place[0]), place[1]) not in seen]
            seen |= {(id(found), k) for found, k in front}
            front = [before for found, k in front for before in self.before(found, k)]
            if any(found is None for found, _ in front):
                return True
        return False

    def before(self, value: Value | None, axis: int) -> list[tuple[Value | None, int]]:
        """Where an axis comes from; None stands for a reshape that makes it by division."""
        match self.producer.get(id(value)):
            case Link() as step:
                return [*_labelled(step, axis)]
            case Slice() as step:
                return [(step.source, axis)]
            case Reshape() as step:
                ins, outs = _block(step, axis)
                if len(ins) == 1 and len(outs) > 1:
                    return [(None, 0)] if axis == outs[0] else []
                return [(step.source, ins[0])] if len(ins) == len(outs) == 1 else []
            case _:
                return []

    def take(self, value: Value, axis: int, start: int, n: int) -> Value:
        """Entries ``start`` to ``start + n`` of an axis."""
        key = (id(value), axis, start, n)
        if key not in self.taken:
            self.taken[key] = self.computed(value, axis, start, n)
        return self.taken[key]

    def computed(self, value: Value, axis: int, start: int, n: int) -> Value:
        match self.producer.get(id(value)):
            case Link() as step if step.out_labels[axis] not in step.pins:
                return self.through_link(step, axis, start, n)
            case Reshape() as step:
                return self.through_reshape(step, axis, start, n)
            case Slice() as step if step.source.shape[axis] == value.shape[axis]:
                source = self.take(step.source, axis, start, n)
                return self.builder.slice(source, step.starts, _changed(value, axis, n))
            case Concat() as step if step.axis != axis:
                return self.builder.concat([self.take(part, axis, start, n) for part in step.ins], step.axis)
            case _:
                return self.plain(value, axis, start, n)

    def plain(self, value: Value, axis: int, start: int, n: int) -> Value:
        starts = [start if k == axis else 0 for k in range(len(value.shape))]
        return self.builder.slice(value, starts, _changed(value, axis, n))

    def through_link(self, step: Link, axis: int, start: int, n: int) -> Value:
        label = step.out_labels[axis]
        ins = [
            self.take(value, labels.index(label), start, n) if label in labels else value
            for value, labels in zip(step.ins, step.in_labels, strict=True)
        ]
        out = dataclasses.replace(step.out, shape=tuple(_changed(step.out, axis, n)), axes=[])
        self.builder.steps.append(dataclasses.replace(step, ins=tuple(ins), out=out))
        return out

    def through_reshape(self, step: Reshape, axis: int, start: int, n: int) -> Value:
        ins, outs = _block(step, axis)
        if len(ins) != 1 or axis != outs[0]:
            return self.plain(step.out, axis, start, n)
        inner = step.source.shape[ins[0]] // step.out.shape[axis]
        source = self.take(step.source, ins[0], start * inner, n * inner)
        return self.builder.reshape(source, _changed(step.out, axis, n))


def _changed(value: Value, axis: int, n: int) -> list[int]:
    return [n if k == axis else size for k, size in enumerate(value.shape)]


def _labelled(step: Link, axis: int) -> list[tuple[Value, int]]:
    """The operands that have the label of an axis of the result, and their axes."""
    label = step.out_labels[axis]
    return [
        (value, labels.index(label))
        for value, labels in zip(step.ins, step.in_labels, strict=True)
        if label in labels
    ]


def _block(step: Reshape, axis: int) -> tuple[list[int], list[int]]:
    """The axes before and after the reshape that go with one another, without those of size one."""
    for ins, outs in blocks(step.source.shape, step.out.shape):
        if axis in outs:
            return (
                [k for k in ins if step.source.shape[k] > 1],
                [k for k in outs if step.out.shape[k] > 1],
            )
    raise AssertionError("every axis is in a block")
