"""Matrix products and convolutions in bfloat16, everything else of a program in float32.

JAX's precision settings leave this to the hardware and change nothing on a CPU.  Here the products of a
traced program are replaced: operands are rounded to bfloat16, their products are exact in float32 and are
summed in float32.  So are the products of the derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jax.extend.core.primitives import conv_general_dilated_p, dot_general_p

PRODUCTS = (dot_general_p, conv_general_dilated_p)

OWN_DERIVATIVE = ("custom_jvp_call", "custom_vjp_call")
"""Functions that say what their derivative is, such as relu: left as they are."""


def bfloat16_products(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of pytrees of arrays, with its products and those of its gradient in bfloat16."""

    def rounded(*args: Any) -> Any:
        closed, shape = jax.make_jaxpr(function, return_shape=True)(*args)
        outputs = _evaluate(closed, jax.tree.leaves(args), _product)
        return jax.tree.unflatten(jax.tree.structure(shape), outputs)

    return rounded


def _evaluate(closed: Any, args: Sequence[Any], product: Callable[..., Any]) -> list[Any]:
    """The program's outputs, with `product` in the place of its products."""
    jaxpr = closed.jaxpr
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *args), strict=True))
    for eqn in jaxpr.eqns:
        inputs = [v.val if isinstance(v, Literal) else values[v] for v in eqn.invars]
        if _is_product(eqn):
            results = [product(eqn.primitive, eqn.params, *inputs)]
        else:
            params = eqn.params
            if _holds_product(eqn):
                params = {name: _replaced(value, product) for name, value in params.items()}
            made = eqn.primitive.bind(*inputs, **eqn.primitive.get_bind_params(params))
            results = made if eqn.primitive.multiple_results else [made]
        values |= dict(zip(eqn.outvars, results, strict=True))
    return [v.val if isinstance(v, Literal) else values[v] for v in jaxpr.outvars]


def _is_product(eqn: Any) -> bool:
    return eqn.primitive in PRODUCTS and all(v.aval.dtype == jnp.float32 for v in eqn.invars)


def _holds_product(eqn: Any) -> bool:
    """Whether the programs inside of an equation (of a loop, a branch, a jit) have products."""
    if eqn.primitive.name in OWN_DERIVATIVE:
        return False
    inner = jax.tree.leaves(tuple(eqn.params.values()), is_leaf=lambda value: isinstance(value, Jaxpr))
    programs = [value.jaxpr if isinstance(value, ClosedJaxpr) else value for value in inner]
    return any(
        _is_product(sub) or _holds_product(sub)
        for program in programs
        if isinstance(program, Jaxpr)
        for sub in program.eqns
    )


def _replaced(value: Any, product: Callable[..., Any]) -> Any:
    """A parameter of an equation, with the products in its programs replaced."""
    if type(value) is tuple:
        return tuple(_replaced(item, product) for item in value)
    if isinstance(value, ClosedJaxpr):
        shapes = [
            jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in value.in_avals
        ]
        return jax.make_jaxpr(lambda *args: _evaluate(value, args, product))(*shapes)
    if isinstance(value, Jaxpr):
        return _replaced(ClosedJaxpr(value, ()), product).jaxpr
    return value


def _rounded(primitive: Any, params: dict[str, Any], a: Any, b: Any) -> jax.Array:
    """The product of the operands rounded to bfloat16, summed in float32."""
    if jax.default_backend() == "cpu":
        # XLA has no such product in loops on a CPU; products of rounded float32 are the same numbers.
        bits = jnp.finfo(jnp.bfloat16)
        return primitive.bind(*(jax.lax.reduce_precision(x, bits.nexp, bits.nmant) for x in (a, b)), **params)
    params = {**params, "precision": None, "preferred_element_type": jnp.dtype(jnp.float32)}
    return primitive.bind(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), **params)


def _product(primitive: Any, params: dict[str, Any], a: Any, b: Any) -> jax.Array:
    """The same with a derivative whose products are rounded too, those of the cotangent included."""

    @jax.custom_vjp
    def product(a: Any, b: Any) -> jax.Array:
        return _rounded(primitive, params, a, b)

    def forward(a: Any, b: Any) -> tuple[jax.Array, tuple[Any, Any]]:
        return product(a, b), (a.astype(jnp.bfloat16), b.astype(jnp.bfloat16))

    def backward(kept: tuple[Any, Any], cotangent: jax.Array) -> tuple[Any, ...]:
        a, b = (operand.astype(jnp.float32) for operand in kept)
        by_operand = (
            jax.linear_transpose(lambda a: primitive.bind(a, b, **params), a),
            jax.linear_transpose(lambda b: primitive.bind(a, b, **params), b),
        )
        return tuple(
            _evaluate(jax.make_jaxpr(transpose)(cotangent), [cotangent], _rounded)[0]
            for transpose in by_operand
        )

    product.defvjp(forward, backward)
    return product(a, b)
