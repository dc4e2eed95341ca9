"""Products that are summed over an axis: `dot_general` and convolution."""

from __future__ import annotations

from typing import Any

from symbayes.symmetry.program.builder import Builder, Rule
from symbayes.symmetry.program.laws import PRODUCT
from symbayes.symmetry.program.program import Label, Value


def _dot_general(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    (left_sum, right_sum), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    left, right = ins
    left_labels: list = [("left", k) for k in range(len(left.shape))]
    right_labels: list = [("right", k) for k in range(len(right.shape))]
    for kind, pairs in (("sum", (left_sum, right_sum)), ("batch", (left_batch, right_batch))):
        for n, (i, j) in enumerate(zip(*pairs, strict=True)):
            left_labels[i] = right_labels[j] = (kind, n)
    out_labels = [
        *[("batch", n) for n in range(len(left_batch))],
        *[label for label in left_labels if label[0] == "left"],
        *[label for label in right_labels if label[0] == "right"],
    ]
    aval = eqn.outvars[0].aval
    return [b.link(PRODUCT, ins, [left_labels, right_labels], out_labels, aval.shape, aval.dtype)]


def _convolution(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    """Channels are contracted, per group where there are groups; positions are pinned."""
    aval = eqn.outvars[0].aval
    if eqn.params["batch_group_count"] != 1:
        return [b.opaque(ins, aval.shape, aval.dtype, "a convolution with batch groups")]
    left_spec, right_spec, out_spec = eqn.params["dimension_numbers"]
    groups = eqn.params["feature_group_count"]
    left, right = ins
    left_labels: list = [None] * len(left.shape)
    right_labels: list = [None] * len(right.shape)
    out_labels: list = [None] * len(aval.shape)
    left_labels[left_spec[0]] = out_labels[out_spec[0]] = "batch"
    left_labels[left_spec[1]] = right_labels[right_spec[1]] = "in"
    right_labels[right_spec[0]] = out_labels[out_spec[1]] = "out"
    pins = _label_positions(eqn.params, right.shape, left_labels, right_labels, out_labels)
    if groups == 1:
        return [b.link(PRODUCT, ins, [left_labels, right_labels], out_labels, aval.shape, aval.dtype, pins)]

    left = _expose_groups(b, left, left_spec[1], groups, left_labels)
    right = _expose_groups(b, right, right_spec[0], groups, right_labels)
    channel = out_spec[1]
    shape = [*aval.shape[:channel], groups, aval.shape[channel] // groups, *aval.shape[channel + 1 :]]
    out_labels.insert(channel, "group")
    grouped = b.link(PRODUCT, [left, right], [left_labels, right_labels], out_labels, shape, aval.dtype, pins)
    return [b.reshape(grouped, aval.shape)]


def _expose_groups(b: Builder, value: Value, axis: int, groups: int, labels: list) -> Value:
    labels.insert(axis, "group")
    return b.split_axis(value, axis, [groups, value.shape[axis] // groups])


def _label_positions(
    params: Any, right_shape: tuple[int, ...], left_labels: list, right_labels: list, out_labels: list
) -> dict[Label, str]:
    """Label the spatial axes; one that the window does not mix goes through."""
    left_spec, right_spec, out_spec = params["dimension_numbers"]
    pins = {}
    for n, (i, j, k) in enumerate(zip(left_spec[2:], right_spec[2:], out_spec[2:], strict=True)):
        through = (
            right_shape[j] == 1
            and params["window_strides"][n] == 1
            and tuple(params["padding"][n]) == (0, 0)
            and params["lhs_dilation"][n] == 1
        )
        left_labels[i] = ("position", n)
        right_labels[j] = ("window", n)
        out_labels[k] = ("position", n) if through else ("moved", n)
        if not through:
            pins |= dict.fromkeys(
                [left_labels[i], right_labels[j], out_labels[k]], "positions of a convolution"
            )
    return pins


RULES: dict[str, Rule] = {"dot_general": _dot_general, "conv_general_dilated": _convolution}
