"""What a network is for one example, without computing anything: its variables' shapes and its program."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxprs_in_params
from jax.typing import DTypeLike

from symbayes import trees
from symbayes.networks.network import Network


@functools.lru_cache(maxsize=256)
def traced(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike) -> tuple[Any, ClosedJaxpr]:
    """Abstract variables, and the program of `apply` on one example of this shape and type."""
    example = jax.ShapeDtypeStruct((1, *example_shape), jax.dtypes.canonicalize_dtype(dtype))
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


@functools.lru_cache(maxsize=256)
def kernel_axes(
    network: Network, example_shape: tuple[int, ...], dtype: DTypeLike
) -> tuple[tuple[str, tuple[int, int]], ...]:
    """The axes of each kernel that face its layer's inputs and its outputs, by the kernel's name.

    A kernel is a parameter of at least two axes.  Where it enters a product as it is, the program tells which
    axes these are; elsewhere they are taken to be the last but one and the last.
    """
    variables, program = traced(network, example_shape, dtype)
    names: list[str] = jax.tree.leaves(trees.map_named(lambda name, _: name, variables["params"]))
    found: dict[str, tuple[int, int]] = dict.fromkeys(names, (-2, -1))
    # Parameters come first: "params" before "stats".
    _follow(program.jaxpr, dict(zip(program.jaxpr.invars, names, strict=False)), found)
    sizes = {name: len(leaf.shape) for name, leaf in trees.flatten(variables["params"]).items()}
    return tuple(
        (name, (inputs % sizes[name], outputs % sizes[name]))
        for name, (inputs, outputs) in found.items()
        if sizes[name] > 1
    )


def _follow(program: Jaxpr, known: dict[Any, str], found: dict[str, tuple[int, int]]) -> None:
    """Note the axes of known parameters that enter products."""
    equation: Any
    for equation in program.eqns:
        operands = [None if isinstance(v, Literal) else known.get(v) for v in equation.invars]
        if equation.primitive.name in ("jit", "pjit"):
            inner = equation.params["jaxpr"].jaxpr
            named = {v: name for v, name in zip(inner.invars, operands, strict=True) if name is not None}
            _follow(inner, named, found)
        if equation.primitive.name == "conv_general_dilated" and operands[1] is not None:
            outputs, inputs, *_ = equation.params["dimension_numbers"].rhs_spec
            found[operands[1]] = (inputs, outputs)
        if equation.primitive.name == "dot_general":
            contracted, batch = equation.params["dimension_numbers"]
            for side, name in enumerate(operands):
                if name is not None and len(contracted[side]) == 1 and not batch[side]:
                    (row,) = contracted[side]
                    columns = [axis for axis in range(equation.invars[side].aval.ndim) if axis != row]
                    found[name] = (row, columns[-1]) if columns else found[name]
