"""Calls, branches and loops: their bodies are written into the same program, once."""

from __future__ import annotations

from typing import Any

from symbayes.symmetry.program.axes import fresh
from symbayes.symmetry.program.builder import loops_of
from symbayes.symmetry.program.laws import LINEAR
from symbayes.symmetry.program.program import Carry, Link, Loop, Value


def inner(jaxpr: Any) -> tuple[Any, list]:
    """A jaxpr, closed or not, and its constants."""
    constants = list(getattr(jaxpr, "consts", None) or [])
    return getattr(jaxpr, "jaxpr", jaxpr), constants


def _call(walker: Any, eqn: Any, ins: list[Value]) -> list[Value]:
    return walker.walk(eqn.params.get("jaxpr", eqn.params.get("call_jaxpr")), ins)


def _cond(walker: Any, eqn: Any, ins: list[Value]) -> list[Value]:
    """Whichever branch is taken, the results must move in one way."""
    predicate, *operands = ins
    branches = [walker.walk(branch, operands) for branch in eqn.params["branches"]]
    outs = []
    for var, cases in zip(eqn.outvars, zip(*branches, strict=True), strict=True):
        outs.append(walker.elementwise(LINEAR, [predicate, *cases], var.aval.shape, var.aval.dtype))
    return outs


def _scan(walker: Any, eqn: Any, ins: list[Value]) -> list[Value]:
    """One step of the loop, in which every value that varies with the step has the loop's axis, hidden."""
    constants, carries = scan_counts(eqn.params)
    first, sequences = ins[constants : constants + carries], ins[constants + carries :]
    length = eqn.params["length"]
    loop = Loop(length, fresh(length, "the order of a scan" if carries else None))
    held = [_held(walker, value, ins) for value in first]
    rows = [_row(walker, value, loop) for value in sequences]
    outs = walker.walk(eqn.params["jaxpr"], [*ins[:constants], *held, *rows])
    for source, target in zip(outs[:carries], held, strict=True):
        walker.steps.append(Carry(source, target))
    return held + [_stacked(walker, value, loop) for value in outs[carries:]]


def scan_counts(params: dict) -> tuple[int, int]:
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carries, _ = params["ft_in"].unpack()
    return len(constants), len(carries)


def _held(walker: Any, first: Value, ins: list[Value]) -> Value:
    """A carried value: the same before the loop, at every step and after it."""
    held = Value(first.shape, first.dtype, loops=loops_of(ins))
    walker.steps.append(Carry(first, held))
    return held


def _row(walker: Any, value: Value, loop: Loop) -> Value:
    axes = tuple(range(1, len(value.shape)))
    row = Value(value.shape[1:], value.dtype, data=value.data, loops=(*value.loops, loop))
    walker.steps.append(Link(LINEAR, (value,), ((loop, *axes),), row, axes))
    return row


def _stacked(walker: Any, value: Value, loop: Loop) -> Value:
    axes = tuple(range(len(value.shape)))
    loops = tuple(other for other in value.loops if other is not loop)
    out = Value((loop.length, *value.shape), value.dtype, data=value.data, loops=loops)
    walker.steps.append(Link(LINEAR, (value,), (axes,), out, (loop, *axes)))
    return out


def _while(walker: Any, eqn: Any, ins: list[Value]) -> list[Value]:
    p = eqn.params
    test_constants, rest = ins[: p["cond_nconsts"]], ins[p["cond_nconsts"] :]
    body_constants, first = rest[: p["body_nconsts"]], rest[p["body_nconsts"] :]
    held = [_held(walker, value, ins) for value in first]
    (predicate,) = walker.walk(p["cond_jaxpr"], [*test_constants, *held])
    outs = walker.walk(p["body_jaxpr"], [*body_constants, *held])
    for source, target in zip(outs, held, strict=True):
        walker.steps.append(Carry(source, target))
    # The predicate decides when the loop ends: every result depends on it.
    return [walker.elementwise(LINEAR, [predicate, value], value.shape, value.dtype) for value in held]


RULES = {
    **dict.fromkeys(["jit", "pjit", "closed_call", "core_call", "core_closed_call"], _call),
    **dict.fromkeys(
        ["remat", "remat2", "checkpoint", "composite", "custom_jvp_call", "custom_vjp_call"], _call
    ),
    "cond": _cond,
    "scan": _scan,
    "while": _while,
}
