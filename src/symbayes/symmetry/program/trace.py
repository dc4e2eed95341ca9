"""From a jaxpr to a `Program`: calls are inlined, constants folded, dead code dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal

from symbayes.symmetry.program.builder import Builder
from symbayes.symmetry.program.program import Program, Value
from symbayes.symmetry.program.rules import contract, elementwise, index, reduce, shape
from symbayes.symmetry.program.rules.control import RULES as CONTROL
from symbayes.symmetry.program.rules.control import inner

RULES = {
    **elementwise.RULES,
    **contract.RULES,
    **shape.RULES,
    **reduce.RULES,
    **index.RULES,
}

LARGEST_CONSTANT = 1 << 22
"""Constants with more entries than this are not computed, and count as varying along every axis."""


class Walker(Builder):
    """Walks jaxprs and writes their steps."""

    def walk(self, jaxpr: Any, args: Sequence[Value]) -> list[Value]:
        """Write the steps of a (closed) jaxpr on these arguments; its results."""
        jaxpr, constants = inner(jaxpr)
        env = dict(zip(jaxpr.constvars, map(self.constant, constants), strict=True))
        env |= dict(zip(jaxpr.invars, args, strict=True))

        def read(var: Any) -> Value:
            return self.constant(var.val) if isinstance(var, Literal) else env[var]

        for eqn in jaxpr.eqns:
            outs = self.step(eqn, [read(var) for var in eqn.invars])
            env |= dict(zip(eqn.outvars, outs, strict=True))
        return [read(var) for var in jaxpr.outvars]

    def step(self, eqn: Any, ins: list[Value]) -> list[Value]:
        name = eqn.primitive.name
        if name in CONTROL:
            return CONTROL[name](self, eqn, ins)
        if all(isinstance(var.aval.dtype, np.dtype) and 0 in var.aval.shape for var in eqn.outvars):
            return [self.constant(np.empty(var.aval.shape, var.aval.dtype)) for var in eqn.outvars]
        if _foldable(eqn, ins):
            return self.fold(eqn, ins)
        if name in RULES:
            return RULES[name](self, eqn, ins)
        reason = f"goes through the primitive {name!r}, which has no rule"
        return [self.opaque(ins, var.aval.shape, var.aval.dtype, reason) for var in eqn.outvars]

    def fold(self, eqn: Any, ins: list[Value]) -> list[Value]:
        if eqn.primitive.name == "broadcast_in_dim" and ins[0].constant is not None:
            return [self.constant(_broadcast(ins[0].constant, eqn.params))]
        outs = eqn.primitive.bind(*(value.constant for value in ins), **eqn.params)
        return [self.constant(out) for out in (outs if eqn.primitive.multiple_results else [outs])]


def _foldable(eqn: Any, ins: list[Value]) -> bool:
    if any(value.constant is None for value in ins) or not (ins or eqn.primitive.name == "iota"):
        return False
    return not eqn.effects and all(
        isinstance(var.aval.dtype, np.dtype) and math.prod(var.aval.shape) <= LARGEST_CONSTANT
        for var in eqn.outvars
    )


def _broadcast(array: np.ndarray, params: dict) -> np.ndarray:
    shape = [1] * len(params["shape"])
    for k, axis in enumerate(params["broadcast_dimensions"]):
        shape[axis] = array.shape[k]
    return np.broadcast_to(array.reshape(shape), params["shape"])


def program_of(jaxpr: Any, paths: Sequence[str], walker: Walker | None = None) -> Program:
    """The program of a jaxpr whose first inputs are the parameters at these paths, in order."""
    walker = Walker() if walker is None else walker
    avals = [var.aval for var in inner(jaxpr)[0].invars]
    values = [Value(tuple(aval.shape), aval.dtype, data=True) for aval in avals]
    for path, value in zip(paths, values, strict=False):
        value.path, value.data = path, False
    outputs = walker.walk(jaxpr, values)
    program = Program(dict(zip(paths, values, strict=False)), walker.steps, outputs)
    program.prune()
    return program


def jaxpr_of(function: Any, *args: Any) -> Any:
    """The jaxpr of a function, traced anew."""
    return jax.make_jaxpr(lambda *again: function(*again))(*args)
