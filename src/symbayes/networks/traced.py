"""What a network is for one example, without computing anything: its variables' shapes and its program."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxprs_in_params

from symbayes.networks.network import Network


@functools.lru_cache(maxsize=256)
def traced(network: Network, example_shape: tuple[int, ...], dtype: Any) -> tuple[Any, ClosedJaxpr]:
    """Abstract variables, and the program of `apply` on one example of this shape and type."""
    example = jax.ShapeDtypeStruct((1, *example_shape), dtype)
    variables = jax.eval_shape(network.init, jax.random.key(0), example)
    return variables, jax.make_jaxpr(network.apply)(variables, example)


def equations(program: Jaxpr, times: int = 1) -> Iterator[tuple[Any, int]]:
    """Every equation that holds no program itself, also within others, with how often it is done."""
    equation: Any
    for equation in program.eqns:
        inner = [part for part in jaxprs_in_params(equation.params) if part.eqns]
        for part in inner:
            yield from equations(part, times * equation.params.get("length", 1))
        if not inner:
            yield equation, times
