"""Primitives that reduce, pool, accumulate or sort along axes."""

from __future__ import annotations

from typing import Any

from symbayes.symmetry.program.builder import Builder, Rule
from symbayes.symmetry.program.laws import COMPARE, LINEAR, OPAQUE, ORDER, Law
from symbayes.symmetry.program.program import Value


def _reduce(law: Law) -> Rule:
    """A reduction that does not depend on the order of its axes."""

    def rule(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
        aval = eqn.outvars[0].aval
        gone = set(eqn.params["axes"])
        labels = range(len(ins[0].shape))
        kept = [k for k in labels if k not in gone]
        return [b.link(law, ins[:1], [labels], kept, aval.shape, aval.dtype)]

    return rule


def _arg(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    """The index of an extremum names a place: the axis is pinned."""
    aval = eqn.outvars[0].aval
    gone = set(eqn.params["axes"])
    labels = range(len(ins[0].shape))
    kept = [k for k in labels if k not in gone]
    pins = dict.fromkeys(gone, "the place of an extremum")
    return [b.link(COMPARE, ins, [labels], kept, aval.shape, aval.dtype, pins)]


def _window(law: Law) -> Rule:
    def rule(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
        p = eqn.params
        pooled = [
            k
            for k, window in enumerate(p["window_dimensions"])
            if (window, p["window_strides"][k], p["base_dilation"][k], *p["padding"][k]) != (1, 1, 1, 0, 0)
        ]
        aval = eqn.outvars[0].aval
        return [b.along(law, ins[0], pooled, aval.shape, aval.dtype, "positions of a pooling")]

    return rule


def _cumulative(law: Law) -> Rule:
    def rule(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
        aval = eqn.outvars[0].aval
        return [b.along(law, ins[0], [eqn.params["axis"]], aval.shape, aval.dtype, "accumulated in order")]

    return rule


def _sort(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    """What comes out sorted has an order, what goes in has none (where ties cannot tell)."""
    axis = eqn.params["dimension"] % len(ins[0].shape)
    results = []
    for value, var in zip(ins, eqn.outvars, strict=True):
        labels = [[("in", k) if k == axis else k for k in range(len(v.shape))] for v in ins]
        out_labels = [("out", k) if k == axis else k for k in range(len(value.shape))]
        pins = {("out", axis): "sorted"} | ({("in", axis): "sorted"} if len(ins) > 1 else {})
        law = ORDER if len(ins) == 1 else OPAQUE
        results.append(b.link(law, ins, labels, out_labels, var.aval.shape, var.aval.dtype, pins))
    return results


def _top_k(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    axis = eqn.params.get("axis", -1) % len(ins[0].shape)
    laws = [ORDER, COMPARE]
    return [
        b.along(law, ins[0], [axis], var.aval.shape, var.aval.dtype, "the largest entries, in order")
        for law, var in zip(laws, eqn.outvars, strict=True)
    ]


RULES: dict[str, Rule] = {
    "reduce_sum": _reduce(LINEAR),
    **dict.fromkeys(["reduce_max", "reduce_min"], _reduce(ORDER)),
    **dict.fromkeys(["reduce_prod", "reduce_and", "reduce_or", "reduce_xor"], _reduce(OPAQUE)),
    **dict.fromkeys(["argmax", "argmin"], _arg),
    "reduce_window_sum": _window(LINEAR),
    **dict.fromkeys(["reduce_window_max", "reduce_window_min"], _window(ORDER)),
    "cumsum": _cumulative(LINEAR),
    **dict.fromkeys(["cummax", "cummin"], _cumulative(ORDER)),
    **dict.fromkeys(["cumprod", "cumlogsumexp"], _cumulative(OPAQUE)),
    "sort": _sort,
    "top_k": _top_k,
}
