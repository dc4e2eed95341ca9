"""Primitives that read or write at computed places: `gather`, `dynamic_slice`, `dynamic_update_slice`."""

from __future__ import annotations

from typing import Any

import numpy as np

from symbayes.symmetry.program.builder import Builder, Rule
from symbayes.symmetry.program.laws import LINEAR
from symbayes.symmetry.program.program import Value

REASON = "looked up by index"


def _gather(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    """Axes taken whole go through, axes that are indexed are pinned, batch axes are aligned."""
    operand, indices = ins
    numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    aval = eqn.outvars[0].aval
    pins = {}
    operand_labels: list = [("operand", k) for k in range(len(operand.shape))]
    index_labels: list = [("index", k) for k in range(len(indices.shape) - 1)] + [None]
    batching = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    for k, i in batching:
        operand_labels[k] = index_labels[i]
    gone = set(numbers.collapsed_slice_dims) | set(numbers.operand_batching_dims)
    offsets = iter([k for k in range(len(operand.shape)) if k not in gone])
    batches = iter(index_labels[:-1])
    out_labels: list = []
    for axis in range(len(aval.shape)):
        if axis not in numbers.offset_dims:
            out_labels.append(next(batches))
            continue
        k = next(offsets)
        whole = sizes[k] == operand.shape[k] and k not in numbers.start_index_map
        out_labels.append(operand_labels[k] if whole else ("read", k))
        if not whole:
            pins |= {operand_labels[k]: REASON, ("read", k): REASON}
    pins |= {operand_labels[k]: REASON for k in numbers.collapsed_slice_dims}
    values, labels = [operand, indices], [operand_labels, index_labels]
    if eqn.params["fill_value"] is not None:  # what an index beyond the end gives
        values.append(b.constant(np.asarray(eqn.params["fill_value"], operand.dtype)))
        labels.append([])
    # Indices are integers: they take no part in scales, but their axes are the axes of the result.
    return [b.link(LINEAR, values, labels, out_labels, aval.shape, aval.dtype, pins)]


def _dynamic_slice(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    value, starts = ins[0], ins[1:]
    aval = eqn.outvars[0].aval
    partial = [k for k, n in enumerate(aval.shape) if n != value.shape[k]]
    if all(starts[k].constant is not None for k in partial):
        where = [
            _clipped(starts[k], value.shape[k] - n) if k in partial else 0 for k, n in enumerate(aval.shape)
        ]
        return [b.slice(value, where, aval.shape)]
    return [_placed(b, b.along(LINEAR, value, partial, aval.shape, aval.dtype, REASON), starts)]


def _placed(b: Builder, value: Value, starts: list[Value]) -> Value:
    """The value, which depends on the computation of these places too."""
    labels = range(len(value.shape))
    places = [[] for _ in starts]
    return b.link(LINEAR, [value, *starts], [labels, *places], labels, value.shape, value.dtype)


def _clipped(start: Value, last: int) -> int:
    assert start.constant is not None
    return min(max(int(start.constant), 0), last)


def _dynamic_update_slice(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    value, update, *starts = ins
    aval = eqn.outvars[0].aval
    partial = {k for k, n in enumerate(update.shape) if n != value.shape[k]}
    pinned = b.along(LINEAR, value, partial, value.shape, value.dtype, REASON)
    labels = [("update", k) if k in partial else k for k in range(len(update.shape))]
    pins = {label: REASON for k, label in enumerate(labels) if k in partial}
    whole = range(len(value.shape))
    updated = b.link(LINEAR, [pinned, update], [whole, labels], whole, aval.shape, aval.dtype, pins)
    return [_placed(b, updated, starts)]


RULES: dict[str, Rule] = {
    "gather": _gather,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
}
