"""Programs that take several inputs at once, which meet in the first layer, each with its own kernel.

A network whose inputs are M inputs side by side begins with a product that is a sum over them,

    first layer = sum_j x_j W_j

so a program for one input is written anew with that sum in the place of its first product.  Given the same
input M times it is the program with the kernel sum_j W_j.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import Jaxpr, JaxprEqn

from symbayes import trees
from symbayes.networks.counting import PRODUCTS
from symbayes.posterior.numerics.rewriting import ELSE, bind, evaluated, flat_program
from symbayes.specs import require

MOVING = (
    *("reshape", "transpose", "squeeze", "expand_dims", "broadcast_in_dim"),
    *("convert_element_type", "copy", "pad", "slice"),
)
"""Primitives that may come before the first product: they do the same to each input."""


@dataclass(frozen=True)
class Several:
    """Values that are on their way to the first product side by side."""

    each: tuple[jax.Array, ...]


def mixed(function: Callable[..., Any], params: Any, first: str, kernels: jax.Array, xs: jax.Array) -> Any:
    """``function(params, x)`` of several inputs side by side, with the kernels of the parameter `first`."""
    program, form = flat_program(function, params, xs[0])
    count = xs.shape[0]

    def rule(eqn: JaxprEqn, *inputs: Any) -> Sequence[Any] | None:
        many = [isinstance(value, Several) for value in inputs]
        if not any(many):
            return None
        each = [
            bind(eqn, [value.each[j] if isinstance(value, Several) else value for value in inputs])[0]
            for j in range(count)
        ]
        return [sum(each[1:], each[0])] if eqn.primitive.name in PRODUCTS else [Several(tuple(each))]

    leaves = [
        Several(tuple(kernels)) if name == first else leaf
        for name, leaf in zip(trees.jax_names(params), jax.tree.leaves(params), strict=True)
    ]
    outputs = evaluated(program, [*leaves, Several(tuple(xs))], {ELSE: rule})
    return jax.tree.unflatten(form, outputs)


def ends_of(function: Callable[..., Any], params: Any, x: Any) -> tuple[str, tuple[str, ...]]:
    """The kernel of the first layer of ``function(params, x)``, whose first output counts, and the parameters
    of the last: those between the last product and that output, and its kernel."""
    program = flat_program(function, params, x)[0].jaxpr
    names = dict(zip(program.invars, trees.jax_names(params), strict=False))
    return _first(program, names), _last(program, names)


def _first(program: Jaxpr, names: dict[Any, str]) -> str:
    sentence = "several inputs need a network that begins with a matrix product or convolution of its input"
    variable: Any = program.invars[-1]
    while True:
        users = [eqn for eqn in program.eqns if variable in [v for v in eqn.invars if not hasattr(v, "val")]]
        require(len(users) == 1, sentence)
        eqn: JaxprEqn = users[0]
        if eqn.primitive.name in PRODUCTS:
            (kernel,) = [v for v in eqn.invars if v is not variable] or [None]
            name = names.get(_origin(program, kernel))
            require(name is not None, sentence)
            return name or ""
        require(eqn.primitive.name in MOVING, sentence)
        (variable,) = eqn.outvars


def _last(program: Jaxpr, names: dict[Any, str]) -> tuple[str, ...]:
    made = {variable: eqn for eqn in program.eqns for variable in eqn.outvars}
    found, left = [], [program.outvars[0]]
    while left:
        variable = left.pop()
        if variable in names:
            found.append(names[variable])
        elif variable in made:
            eqn: JaxprEqn = made[variable]
            if eqn.primitive.name in PRODUCTS:
                kernels = [names.get(_origin(program, v)) for v in eqn.invars]
                found += [name for name in kernels if name is not None]
            else:
                require(
                    eqn.primitive.name in (*MOVING, "add"),
                    "several outputs need a network that ends with a linear layer",
                )
                left += [v for v in eqn.invars if not hasattr(v, "val")]
    return tuple(sorted(found, key=trees.path_key))


def _origin(program: Jaxpr, variable: Any) -> Any:
    """The variable that this one is another form of."""
    made = {out: eqn for eqn in program.eqns for out in eqn.outvars}
    while variable in made and made[variable].primitive.name in MOVING:
        variable = made[variable].invars[0]
    return variable
