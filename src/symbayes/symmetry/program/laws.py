"""How an operation passes on the scale and the sign of its operands.

Suppose operand i is multiplied by ``exp(d_i)`` (a positive scale) or by ``(-1)^{d_i}`` (a sign), where
``d_i`` may differ from entry to entry.  A rule says what must hold for the result to be multiplied in
the same way, and with which d:

* SAME: all d_i are equal, and the result has that d (addition; maximum, for scales);
* AGREE: all d_i are equal, also along the axes that are reduced, and the result does not change
  (comparisons, the place of an extremum);
* FORGET: any d_i will do, the result does not change (absolute value, for signs);
* FIXED: every d_i is zero (exponential);
* a tuple of numbers c_i: the result has d = sum_i c_i d_i (product, powers).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

Rule = str | tuple[int | Fraction, ...]

SAME = "same"
AGREE = "agree"
FORGET = "forget"
FIXED = "fixed"


def weights(*coefficients: int | Fraction) -> Rule:
    return coefficients


class Law(NamedTuple):
    """The rule for scales and the rule for signs of one operation."""

    scale: Rule
    sign: Rule


LINEAR = Law(SAME, SAME)
PRODUCT = Law(weights(1, 1), weights(1, 1))
OPAQUE = Law(FIXED, FIXED)
ORDER = Law(SAME, FIXED)
"""Commutes with positive scales, not with signs: maximum, sorting."""
COMPARE = Law(AGREE, FIXED)
ODD = Law(FIXED, SAME)
EVEN = Law(FIXED, FORGET)


def power(exponent: Fraction | int, parity: Rule = FIXED) -> Law:
    return Law(weights(exponent), parity)


ELEMENTWISE: dict[str, Law] = {
    **dict.fromkeys(["add", "sub", "add_any", "neg", "copy", "copy_p", "real", "imag", "conj"], LINEAR),
    **dict.fromkeys(["stop_gradient", "reduce_precision", "select_n"], LINEAR),
    **dict.fromkeys(["max", "min", "clamp"], ORDER),
    **dict.fromkeys(["lt", "le", "gt", "ge"], COMPARE),
    **dict.fromkeys(["eq", "ne"], Law(AGREE, AGREE)),
    **dict.fromkeys(["tanh", "erf", "sin", "sinh", "asinh", "atan", "tan", "atanh", "asin"], ODD),
    **dict.fromkeys(["erf_inv", "round", "bessel_i1e"], ODD),
    **dict.fromkeys(["cos", "cosh", "one_minus_square", "bessel_i0e"], EVEN),
    **dict.fromkeys(
        ["exp", "exp2", "expm1", "log", "log1p", "logistic", "erfc", "lgamma", "digamma"], OPAQUE
    ),
    **dict.fromkeys(["floor", "ceil", "atan2", "rem", "nextafter", "acos", "acosh", "igamma"], OPAQUE),
    **dict.fromkeys(["and", "or", "xor", "not", "shift_left", "shift_right_logical"], OPAQUE),
    **dict.fromkeys(
        ["shift_right_arithmetic", "population_count", "clz", "log2", "igammac", "polygamma", "zeta"], OPAQUE
    ),
    "mul": PRODUCT,
    "div": Law(weights(1, -1), weights(1, 1)),
    "abs": Law(SAME, FORGET),
    "sign": Law(FORGET, SAME),
    "is_finite": Law(FORGET, FORGET),
    "square": power(2, FORGET),
    "sqrt": power(Fraction(1, 2)),
    "rsqrt": power(Fraction(-1, 2)),
    "cbrt": power(Fraction(1, 3), SAME),
}
"""Primitives that act entry by entry on operands of one shape."""


def integer_power(exponent: int) -> Law:
    return power(exponent, SAME if exponent % 2 else FORGET)
