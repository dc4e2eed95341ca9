"""Programs written anew: a traced function, evaluated with other rules for some of its primitives.

A rule takes an equation and its inputs and gives its outputs, or None to leave the equation as it is.
Programs within the program (loops, branches, jits) follow the same rules.  Functions that say what their
derivative is, such as relu, are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

Rule = Callable[..., Sequence[Any] | None]
Rules = dict[str, Rule]
"""Rules by the name of the primitive; the one called ``ELSE`` is for all that have none and hold none."""

ELSE = "else"

OWN_DERIVATIVE = ("custom_jvp_call", "custom_vjp_call")

JIT = ("jit", "pjit")


def rewritten(function: Callable[..., Any], rules: Rules) -> Callable[..., Any]:
    """`function` of pytrees of arrays, evaluated with these rules; its outputs keep their types."""

    def anew(*args: Any) -> Any:
        closed, shape = jax.make_jaxpr(function, return_shape=True)(*args)
        outputs = _typed(closed.jaxpr.outvars, evaluated(closed, jax.tree.leaves(args), rules))
        return jax.tree.unflatten(jax.tree.structure(shape), outputs)

    return anew


def flat_program(function: Callable[..., Any], *args: Any) -> tuple[ClosedJaxpr, Any]:
    """The program of `function`, each of whose equations is done once, and the structure of its outputs."""
    closed, shape = jax.make_jaxpr(rewritten(function, {}), return_shape=True)(*args)
    return closed, jax.tree.structure(shape)


def bind(eqn: JaxprEqn, inputs: Sequence[Any], params: dict[str, Any] | None = None) -> list[Any]:
    """What the equation gives as it is, or with other parameters."""
    bound: dict[str, Any] = eqn.primitive.get_bind_params(eqn.params if params is None else params)
    made = eqn.primitive.bind(*inputs, **bound)
    return list(made) if eqn.primitive.multiple_results else [made]


def _typed(variables: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The values in the types that the program has for them."""
    arrays = [jnp.asarray(value) for value in values]
    return [
        value if v.aval.dtype == value.dtype else value.astype(v.aval.dtype)
        for v, value in zip(variables, arrays, strict=True)
    ]


def evaluated(closed: ClosedJaxpr, args: Sequence[Any], rules: Rules) -> list[Any]:
    """The program's outputs; arguments that are no arrays are for the rules to deal with."""
    jaxpr = closed.jaxpr
    values: dict[Any, Any] = dict(
        zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *args), strict=True)
    )

    def read(variables: Sequence[Any]) -> list[Any]:
        return [v.val if isinstance(v, Literal) else values[v] for v in variables]

    for eqn in jaxpr.eqns:
        values |= dict(zip(eqn.outvars, _outputs(eqn, read(eqn.invars), rules), strict=True))
    return read(jaxpr.outvars)


def _outputs(eqn: JaxprEqn, inputs: Sequence[Any], rules: Rules) -> Sequence[Any]:
    if eqn.primitive.name in JIT:
        return evaluated(eqn.params["jaxpr"], inputs, rules)
    inside = _has_rule_inside(eqn, rules)
    rule = rules.get(eqn.primitive.name, None if inside else rules.get(ELSE))
    outputs = None if rule is None else rule(eqn, *inputs)
    if outputs is not None:
        return outputs
    if not inside:
        return bind(eqn, inputs)
    params = {name: _replaced(value, rules) for name, value in eqn.params.items()}
    return bind(eqn, _typed(eqn.invars, inputs), params)


def _has_rule_inside(eqn: JaxprEqn, rules: Rules) -> bool:
    """Whether the programs inside of an equation hold one that has a rule."""
    if eqn.primitive.name in OWN_DERIVATIVE:
        return False
    inner = jax.tree.leaves(tuple(eqn.params.values()), is_leaf=lambda value: isinstance(value, Jaxpr))
    programs = [value.jaxpr if isinstance(value, ClosedJaxpr) else value for value in inner]
    return any(
        sub.primitive.name in rules or _has_rule_inside(sub, rules)
        for program in programs
        if isinstance(program, Jaxpr)
        for sub in program.eqns
    )


def _replaced(value: Any, rules: Rules) -> Any:
    """A parameter of an equation, with the programs in it written anew."""
    if type(value) is tuple:
        return tuple(_replaced(item, rules) for item in value)
    if isinstance(value, ClosedJaxpr):
        shapes = [
            jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in value.in_avals
        ]
        return jax.make_jaxpr(lambda *args: _typed(value.jaxpr.outvars, evaluated(value, args, rules)))(
            *shapes
        )
    if isinstance(value, Jaxpr):
        return _replaced(ClosedJaxpr(value, ()), rules).jaxpr
    return value
