"""Programs in bfloat16: their products, and the activations between products.

JAX's precision settings leave this to the hardware and change nothing on a CPU.  Here a traced program is
written anew:

- a matrix product or convolution has its operands rounded to bfloat16, is summed in float32, and is rounded;
- what is computed element by element from such a value, or moved, stays in bfloat16, so that activations take
  half the bytes, which is what bounds networks of few channels;
- a sum is made in float32 and stays so until it meets such a value again: the statistics of a normaliser;
- everything else (loops, functions with a derivative of their own) is computed in float32 and rounded.

So is the derivative, but that of a float32 operand of a matrix product, a parameter, is left in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import JaxprEqn

from symbayes.networks.counting import PRODUCTS
from symbayes.posterior.numerics.rewriting import ELSE, Rules, bind, rewritten

ELEMENTWISE = """abs add clamp copy cos div eq erf exp expm1 ge gt integer_pow is_finite le log log1p logistic
    lt max min mul ne neg pow rsqrt select_n sign sin sqrt square sub tanh"""
MOVING = """broadcast_in_dim concatenate dynamic_slice expand_dims pad reduce_max reduce_min reduce_window_max
    reshape rev slice squeeze transpose"""
KEPT = frozenset([*ELEMENTWISE.split(), *MOVING.split()])
"""Primitives that work on bfloat16 as on float32: element by element, or moving or choosing what they get."""

SMALL, FULL = jnp.dtype(jnp.bfloat16), jnp.dtype(jnp.float32)


def in_bfloat16(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of pytrees of arrays, with its products and activations in bfloat16; its outputs keep their
    types."""
    return rewritten(function, RULES)


def _product(eqn: Any, a: Any, b: Any) -> Sequence[jax.Array] | None:
    if any(v.aval.dtype != FULL for v in eqn.invars):
        return None
    return [_rounded_product(eqn.primitive, eqn.params, jnp.asarray(a), jnp.asarray(b))]


def _rounded_product(primitive: Any, params: dict[str, Any], a: jax.Array, b: jax.Array) -> jax.Array:
    """The product in bfloat16, with a derivative whose products are rounded too."""

    @jax.custom_vjp
    def product(a: Any, b: Any) -> jax.Array:
        return _multiply(primitive, params, a, b, SMALL)

    def forward(a: Any, b: Any) -> tuple[jax.Array, tuple[Any, Any]]:
        return product(a, b), (_small(a), _small(b))

    def backward(kept: tuple[Any, Any], cotangent: jax.Array) -> tuple[Any, ...]:
        def by(i: int, to: Any) -> jax.Array:
            """The derivative by operand `i`, a product of the cotangent and the other operand."""
            full = [operand.astype(FULL) for operand in kept]

            def alone(operand: jax.Array) -> jax.Array:
                pair = [operand, full[1]] if i == 0 else [full[0], operand]
                return primitive.bind(*pair, **params)

            def multiply(eqn: JaxprEqn, a: Any, b: Any) -> Sequence[jax.Array]:
                return [_multiply(eqn.primitive, eqn.params, a, b, to)]

            transpose = jax.linear_transpose(alone, full[i])
            rules: Rules = dict.fromkeys(PRODUCTS, multiply)
            return rewritten(lambda c: transpose(c)[0], rules)(cotangent.astype(FULL)).astype(to)

        return by(0, a.dtype), by(1, b.dtype)

    product.defvjp(forward, backward)
    return product(a, b)


def _multiply(primitive: Any, params: dict[str, Any], a: Any, b: Any, to: Any) -> jax.Array:
    """The product of the operands rounded to bfloat16, summed in float32, in the type `to`."""
    if jax.default_backend() == "cpu":
        # XLA has no such product in loops on a CPU; products of rounded float32 are the same numbers.
        bits = jnp.finfo(SMALL)
        a, b = (jax.lax.reduce_precision(x.astype(FULL), bits.nexp, bits.nmant) for x in (a, b))
        return primitive.bind(a, b, **params).astype(to)
    # Convolutions of bfloat16 that give float32 are done in float32.
    given = to if primitive.name == "dot_general" else SMALL
    params = {**params, "precision": None, "preferred_element_type": given}
    return primitive.bind(_small(a), _small(b), **params).astype(to)


def _otherwise(eqn: Any, *inputs: Any) -> Sequence[Any] | None:
    """An equation that is no product and holds none: in bfloat16 where one of its inputs is."""
    given = [jnp.asarray(x) for x in inputs]
    if not any(_is_small(v, x) for v, x in zip(eqn.invars, given, strict=True)):
        return None
    name = eqn.primitive.name
    if name == "convert_element_type" and eqn.params["new_dtype"] == FULL:
        return given
    if name in KEPT:
        return bind(eqn, [_small(x) for x in given])
    outputs = bind(eqn, [x.astype(v.aval.dtype) for v, x in zip(eqn.invars, given, strict=True)])
    return outputs if name == "reduce_sum" else [_small(out) for out in outputs]


def _is_small(variable: Any, value: jax.Array) -> bool:
    return value.dtype == SMALL and variable.aval.dtype == FULL


def _small(value: Any) -> Any:
    return value.astype(SMALL) if value.dtype == FULL else value


RULES: Rules = dict.fromkeys(PRODUCTS, _product) | {ELSE: _otherwise}
