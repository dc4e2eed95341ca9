"""Primitives that move entries about and leave their values alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symbayes.symmetry.program.builder import Builder, Rule
from symbayes.symmetry.program.laws import LINEAR
from symbayes.symmetry.program.program import Value
from symbayes.symmetry.program.slicing import Slicer


def _reshape(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    aval = eqn.outvars[0].aval
    if eqn.params.get("dimensions") is not None:
        return [b.opaque(ins, aval.shape, aval.dtype, "a reshape in another order")]
    return [b.reshape(ins[0], aval.shape)]


def _transpose(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    return [b.relabel(ins[0], eqn.params["permutation"], eqn.outvars[0].aval.shape)]


def _squeeze(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    gone = {k % len(ins[0].shape) for k in eqn.params["dimensions"]}
    kept = [k for k in range(len(ins[0].shape)) if k not in gone]
    return [b.relabel(ins[0], kept, eqn.outvars[0].aval.shape)]


def _expand_dims(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    shape = eqn.outvars[0].aval.shape
    new = {k % len(shape) for k in eqn.params["dimensions"]}
    old = iter(range(len(ins[0].shape)))
    return [b.relabel(ins[0], [None if k in new else next(old) for k in range(len(shape))], shape)]


def _broadcast_in_dim(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    shape = eqn.params["shape"]
    order: list[int | None] = [None] * len(shape)
    for k, axis in enumerate(eqn.params["broadcast_dimensions"]):
        if ins[0].shape[k] == shape[axis]:
            order[axis] = k
    return [b.relabel(ins[0], order, shape)]


def _tile(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    """Copies side by side: a new axis in front of each, merged with it."""
    value, reps = ins[0], eqn.params["reps"]
    order = [k for axis in range(len(value.shape)) for k in (None, axis)]
    shape = [n for rep, size in zip(reps, value.shape, strict=True) for n in (rep, size)]
    return [b.reshape(b.relabel(value, order, shape), eqn.outvars[0].aval.shape)]


def _concatenate(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    return [b.concat(ins, int(eqn.params["dimension"]))]


def _slice(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    aval = eqn.outvars[0].aval
    starts, strides = eqn.params["start_indices"], eqn.params["strides"]
    strided = [k for k, s in enumerate(strides or ()) if s != 1 and aval.shape[k] > 1]
    value = ins[0]
    if strided:
        shape = [aval.shape[k] if k in strided else n for k, n in enumerate(value.shape)]
        value = b.along(LINEAR, value, strided, shape, aval.dtype, "a slice with strides")
        starts = [0 if k in strided else start for k, start in enumerate(starts)]
    return [_piece(b, value, starts, aval.shape)]


def _piece(b: Builder, value: Value, starts: Sequence[int], shape: Sequence[int]) -> Value:
    """A slice; along a single axis it is taken before the computation where that tells more."""
    partial = [k for k, n in enumerate(shape) if n != value.shape[k]]
    if len(partial) == 1:
        slicer, axis = Slicer(b), partial[0]
        if slicer.worthwhile(value, axis):
            return slicer.take(value, axis, int(starts[axis]), int(shape[axis]))
    return b.slice(value, starts, shape)


def _split(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    axis, start, results = eqn.params["axis"], 0, []
    for var in eqn.outvars:
        starts = [0] * len(ins[0].shape)
        starts[axis] = start
        results.append(_piece(b, ins[0], starts, var.aval.shape))
        start += var.aval.shape[axis]
    return results


def _stack(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    axis, shape = eqn.params["axis"], list(ins[0].shape)
    order: list[int | None] = [*range(len(shape))]
    order.insert(axis, None)
    shape.insert(axis, 1)
    return [b.concat([b.relabel(value, order, shape) for value in ins], axis)]


def _unstack(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    value, axis = ins[0], eqn.params["axis"]
    rest = [k for k in range(len(value.shape)) if k != axis]
    results = []
    for n, var in enumerate(eqn.outvars):
        starts = [n if k == axis else 0 for k in range(len(value.shape))]
        row = _piece(b, value, starts, _with([*value.shape], axis, 1))
        results.append(b.relabel(row, rest, var.aval.shape))
    return results


def _pad(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    """Padding after or before is concatenation; between or by a negative number pins the axis."""
    value, filling = ins
    for axis, padding in enumerate(eqn.params["padding_config"]):
        low, high, interior = map(int, padding)
        shape = list(value.shape)
        if interior or min(low, high) < 0:
            shape[axis] = eqn.outvars[0].aval.shape[axis]
            value = b.along(LINEAR, value, [axis], shape, value.dtype, "a padding between entries")
        elif low or high:
            sides = [b.relabel(filling, [None] * len(shape), _with(shape, axis, n)) for n in (low, high)]
            parts = [sides[0]] * bool(low) + [value] + [sides[1]] * bool(high)
            value = b.concat(parts, axis)
    return [value]


def _with(shape: list[int], axis: int, size: int) -> list[int]:
    return [size if k == axis else n for k, n in enumerate(shape)]


def _rev(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    aval = eqn.outvars[0].aval
    return [b.along(LINEAR, ins[0], eqn.params["dimensions"], aval.shape, aval.dtype, "reversed")]


RULES: dict[str, Rule] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "expand_dims": _expand_dims,
    "broadcast_in_dim": _broadcast_in_dim,
    "tile": _tile,
    "concatenate": _concatenate,
    "slice": _slice,
    "split": _split,
    "stack": _stack,
    "unstack": _unstack,
    "pad": _pad,
    "rev": _rev,
}
