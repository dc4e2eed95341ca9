"""A jaxpr in float64: the same operations, with every floating-point number in double precision.

The program is traced in its own types and widened afterwards.  Tracing it on float64 arguments instead would
meet the types that it writes down itself: a carry made as float32 zeros stays float32, while what the loop
makes of it is float64.  An operation that is bound to its types (a reinterpretation of bits, a call back to
Python) is given them, and its result is widened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal

from symbayes.symmetry.program.rules.control import inner, scan_counts

CALLS = ("jit", "pjit", "closed_call", "core_call", "core_closed_call", "remat", "remat2", "checkpoint")
CUSTOM = ("composite", "custom_jvp_call", "custom_vjp_call")
BITS = "bitcast_convert_type"


def wide_type(dtype: Any) -> Any:
    """The double of a floating-point or complex type; any other type as it is."""
    if jnp.issubdtype(dtype, jnp.floating):
        return np.dtype(np.float64)
    return np.dtype(np.complex128) if jnp.issubdtype(dtype, jnp.complexfloating) else dtype


def wide(jaxpr: Any) -> Any:
    """A closed jaxpr, in double precision."""
    with jax.enable_x64(True):
        args = [jax.ShapeDtypeStruct(aval.shape, wide_type(aval.dtype)) for aval in jaxpr.in_avals]
        return jax.make_jaxpr(lambda *values: evaluated(jaxpr, values))(*args)


def evaluated(jaxpr: Any, args: Sequence[Any]) -> list[Any]:
    """The results of a jaxpr on wide arguments, in double precision."""
    jaxpr, constants = inner(jaxpr)
    env = dict(zip(jaxpr.constvars, map(_widened, constants), strict=True))
    env |= dict(zip(jaxpr.invars, args, strict=True))

    def read(var: Any) -> Any:
        return env[var] if not isinstance(var, Literal) else _widened(_literal(var.val, var.aval))

    for eqn in jaxpr.eqns:
        env |= dict(zip(eqn.outvars, _step(eqn, [read(var) for var in eqn.invars]), strict=True))
    return [read(var) for var in jaxpr.outvars]


def narrow(eqn: JaxprEqn) -> bool:
    """Whether an operation keeps the types that it was traced with."""
    name = eqn.primitive.name
    if name in CALLS or name in CUSTOM or name in CONTROL:
        return False
    bodies = any(hasattr(value, "eqns") for value in jax.tree.leaves(list(eqn.params.values())))
    return name == BITS or bool(eqn.effects) or "call" in name or (bodies and not name.startswith("scatter"))


def _step(eqn: JaxprEqn, ins: list[Any]) -> list[Any]:
    name, params = eqn.primitive.name, eqn.params
    if name in CALLS or name in CUSTOM:
        return evaluated(params.get("jaxpr", params.get("call_jaxpr")), ins)
    if name in CONTROL:
        return CONTROL[name](eqn, ins)
    if name == "reduce_precision":
        return ins
    if narrow(eqn):
        given = [_typed(value, var.aval) for value, var in zip(ins, eqn.invars, strict=True)]
        return [_widened(out) for out in _bound(eqn, given, _typed_callback(params))]
    return _bound(eqn, ins, {key: _wide_parameter(value) for key, value in params.items()})


def _bound(eqn: JaxprEqn, ins: list[Any], params: dict[str, Any]) -> list[Any]:
    outs = eqn.primitive.bind(*ins, **params)
    return list(outs) if eqn.primitive.multiple_results else [outs]


def _wide_parameter(value: Any) -> Any:
    if hasattr(value, "eqns"):
        return wide(ClosedJaxpr(value, ())).jaxpr
    return wide_type(value) if isinstance(value, np.dtype) else value


def _literal(value: Any, aval: Any) -> np.ndarray:
    return np.asarray(value, aval.dtype)


def _widened(value: Any) -> Any:
    dtype = wide_type(value.dtype)
    if dtype == value.dtype:
        return value
    return (
        value.astype(dtype) if isinstance(value, np.ndarray) else jax.lax.convert_element_type(value, dtype)
    )


def _typed(value: Any, aval: Any) -> Any:
    same = value.dtype == aval.dtype or not isinstance(aval.dtype, np.dtype)
    return value if same else jax.lax.convert_element_type(value, aval.dtype)


def _typed_callback(params: dict[str, Any]) -> dict[str, Any]:
    """A call to Python gives the types that it was declared with: outside float64 JAX sees to that."""
    if "result_avals" not in params:
        return params

    def callback(*args: Any) -> tuple[np.ndarray, ...]:
        outs = zip(params["callback"](*args), params["result_avals"], strict=True)
        return tuple(np.asarray(out, aval.dtype) for out, aval in outs)

    return params | {"callback": callback}


# -------------------------------------------------------------------- branches and loops


def _cond(eqn: JaxprEqn, ins: list[Any]) -> list[Any]:
    branches = [lambda *args, branch=branch: evaluated(branch, args) for branch in eqn.params["branches"]]
    return jax.lax.switch(ins[0], branches, *ins[1:])


def _scan(eqn: JaxprEqn, ins: list[Any]) -> list[Any]:
    params = eqn.params
    constants, carries = scan_counts(params)
    held = ins[:constants]

    def body(carry: list[Any], rows: list[Any]) -> tuple[list[Any], list[Any]]:
        outs = evaluated(params["jaxpr"], [*held, *carry, *rows])
        return outs[:carries], outs[carries:]

    first, rows = ins[constants : constants + carries], ins[constants + carries :]
    last, stacked = jax.lax.scan(body, first, rows, length=params["length"], reverse=params["reverse"])
    return [*last, *stacked]


def _while(eqn: JaxprEqn, ins: list[Any]) -> list[Any]:
    params = eqn.params
    held, rest = ins[: params["cond_nconsts"]], ins[params["cond_nconsts"] :]
    constants, first = rest[: params["body_nconsts"]], rest[params["body_nconsts"] :]
    return jax.lax.while_loop(
        lambda state: evaluated(params["cond_jaxpr"], [*held, *state])[0],
        lambda state: evaluated(params["body_jaxpr"], [*constants, *state]),
        first,
    )


CONTROL = {"cond": _cond, "scan": _scan, "while": _while}
