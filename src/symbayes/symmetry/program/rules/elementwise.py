"""Primitives that act entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from symbayes.symmetry.program.builder import Builder, Rule
from symbayes.symmetry.program.laws import ELEMENTWISE, LINEAR, OPAQUE, Law, integer_power, power
from symbayes.symmetry.program.program import Value


def evaluation(eqn: Any) -> Callable[..., Any]:
    """The primitive as a function of arrays."""
    return lambda *arrays: eqn.primitive.bind(*arrays, **eqn.params)


def elementwise(law: Law) -> Rule:
    """The rule for a primitive with this law."""

    def rule(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
        (var,) = eqn.outvars
        return [b.elementwise(law, ins, var.aval.shape, var.aval.dtype, evaluation(eqn))]

    return rule


def _integer_pow(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    aval = eqn.outvars[0].aval
    return [b.elementwise(integer_power(eqn.params["y"]), ins, aval.shape, aval.dtype, evaluation(eqn))]


def _pow(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    """A constant exponent gives a power; any other leaves nothing free."""
    aval = eqn.outvars[0].aval
    exponent = ins[1].constant
    uniform = exponent is not None and exponent.size > 0 and np.all(exponent == exponent.flat[0])
    if exponent is None or not uniform or not np.isfinite(exponent.flat[0]):
        return [b.elementwise(OPAQUE, ins, aval.shape, aval.dtype, evaluation(eqn))]
    law = power(Fraction(float(exponent.flat[0])))
    return [b.elementwise(law, ins[:1], aval.shape, aval.dtype)]


def _convert(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    aval = eqn.outvars[0].aval
    law = LINEAR if jnp.issubdtype(aval.dtype, jnp.inexact) else OPAQUE
    return [b.elementwise(law, ins, aval.shape, aval.dtype, evaluation(eqn))]


def _each(b: Builder, eqn: Any, ins: list[Value]) -> list[Value]:
    """Several operands, each passed on by itself."""
    return [b.elementwise(LINEAR, [value], value.shape, value.dtype) for value in ins]


RULES: dict[str, Rule] = {
    **{name: elementwise(law) for name, law in ELEMENTWISE.items()},
    "integer_pow": _integer_pow,
    "pow": _pow,
    "convert_element_type": _convert,
    "optimization_barrier": _each,
}
