"""The products that parameters enter, found in a network's program: what a layer is, without its name.

A parameter that enters one matrix product or convolution, and nothing else, is the kernel of a layer: its
contracted axes meet the layer's inputs, a vector for every position (of one example, those at which the
kernel is applied), and its other axes make the outputs.  Where the inputs at position t are a_t and the slope
of some loss in the outputs there is g_t, its slope in the kernel is the sum of the outer products a_t g_t'.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import Jaxpr, JaxprEqn, Literal
from jax.typing import DTypeLike

from symbayes import trees
from symbayes.networks import Network
from symbayes.networks.traced import traced
from symbayes.posterior.numerics.rewriting import JIT, bind, rewritten


@dataclass(frozen=True)
class Product:
    """A product of a parameter with activations.

    Attributes:
        kind: name of the primitive.
        side: which of its two operands the parameter is.
        rows: axes of the parameter that are contracted with activations, in ascending order.
        columns: its other axes.
        inputs: numbers in the rows.
        outputs: numbers in the columns.
        positions: how often one example meets the parameter.
        params: those of the primitive.
    """

    kind: str
    side: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    inputs: int
    outputs: int
    positions: int
    params: Any

    def activations(self, other: jax.Array, kernel: tuple[int, ...]) -> jax.Array:
        """The other operand as (position, input), for a kernel of this shape."""
        if self.kind == "dot_general":
            contracted = self.params["dimension_numbers"][0]
            paired = dict(zip(contracted[self.side], contracted[1 - self.side], strict=True))
            last = [paired[axis] for axis in self.rows]
            free = [axis for axis in range(other.ndim) if axis not in last]
            return other.transpose(*free, *last).reshape(self.positions, self.inputs)
        numbers = self.params["dimension_numbers"]
        windows = [kernel[axis] for axis in numbers.rhs_spec[2:]]
        patches = jax.lax.conv_general_dilated_patches(
            other.transpose(numbers.lhs_spec),
            windows,
            self.params["window_strides"],
            self.params["padding"],
            self.params["lhs_dilation"],
            self.params["rhs_dilation"],
            precision=jax.lax.Precision.HIGHEST,
        )
        # (example, channels and windows, positions) to (example, positions, rows of the kernel).
        places = patches.shape[2:]
        apart = patches.reshape(len(other), kernel[numbers.rhs_spec[1]], *windows, *places)
        order = [1 + numbers.rhs_spec[1:].index(axis) for axis in self.rows]
        spatial = range(2 + len(windows), apart.ndim)
        return apart.transpose(0, *spatial, *order).reshape(self.positions, self.inputs)

    def shaped(self, matrix: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """(position, output) in the form in which the product gives it."""
        if self.kind == "dot_general":
            return (matrix if self.side == 1 else matrix.T).reshape(shape)
        spec = self.params["dimension_numbers"].out_spec
        order = (spec[0], *spec[2:], spec[1])
        made = matrix.reshape([shape[axis] for axis in order])
        return made.transpose([order.index(axis) for axis in range(len(shape))])

    def kernel(self, matrix: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """(..., input, output) in the form of the parameter."""
        lead, order = matrix.shape[:-2], (*self.rows, *self.columns)
        made = matrix.reshape(*lead, *(shape[axis] for axis in order))
        return made.transpose(
            *range(len(lead)), *(len(lead) + order.index(axis) for axis in range(len(shape)))
        )


@functools.lru_cache(maxsize=64)
def products(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike) -> dict[str, Product]:
    """The kernels among a network's variables by name, in the order in which the program comes to them."""
    variables, program = traced(network, example_shape, dtype)
    names = jax.tree.leaves(trees.map_named(lambda name, _: name, variables))
    known = dict(zip(program.jaxpr.invars, names, strict=False))
    used: dict[str, list[Product | None]] = {}
    for name, found in _uses(program.jaxpr, known):
        used.setdefault(name, []).append(found)
    return {
        name: found[0]
        for name, found in used.items()
        if len(found) == 1 and found[0] is not None and name.startswith("params/")
    }


def _uses(program: Jaxpr, known: dict[Any, str]) -> Iterator[tuple[str, Product | None]]:
    """Every use of a named variable: the product that it is an operand of, or None for any other."""
    eqn: JaxprEqn
    for eqn in program.eqns:
        operands = [None if isinstance(v, Literal) else known.get(v) for v in eqn.invars]
        if eqn.primitive.name in JIT:
            inner = eqn.params["jaxpr"].jaxpr
            named = {v: name for v, name in zip(inner.invars, operands, strict=True) if name is not None}
            yield from _uses(inner, named)
            continue
        for side, name in enumerate(operands):
            if name is not None:
                yield name, None if operands.count(None) != len(operands) - 1 else _product(eqn, side)


def _product(eqn: Any, side: int) -> Product | None:
    kind, params = eqn.primitive.name, eqn.params
    shape, out = eqn.invars[side].aval.shape, eqn.outvars[0].aval.shape
    if kind == "dot_general":
        contracted, batch = params["dimension_numbers"]
        if batch[side]:
            return None
        rows = tuple(sorted(contracted[side]))
    elif kind == "conv_general_dilated":
        if side == 0 or params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
            return None
        rows = tuple(sorted(params["dimension_numbers"].rhs_spec[1:]))
    else:
        return None
    columns = tuple(axis for axis in range(len(shape)) if axis not in rows)
    inputs, outputs = (math.prod(shape[axis] for axis in axes) for axes in (rows, columns))
    return Product(kind, side, rows, columns, inputs, outputs, math.prod(out) // outputs, params)


def tapped(
    network: Network, found: dict[str, Product], variables: Any, taps: dict[str, jax.Array], x: jax.Array
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """The outputs for one example (1, ...) with `taps` added to the products, each (position, output); and
    the products' activations, each (position, input)."""
    flat = trees.flatten(variables)
    seen: dict[str, jax.Array] = {}

    def rule(eqn: JaxprEqn, *operands: Any) -> list[Any] | None:
        for name, product in found.items():
            if operands[product.side] is flat[name]:
                (made,) = bind(eqn, operands)
                seen[name] = product.activations(operands[1 - product.side], flat[name].shape)
                return [made + product.shaped(taps[name], made.shape)]
        return None

    rules: dict[str, Callable[..., Any]] = {"dot_general": rule, "conv_general_dilated": rule}
    outputs = rewritten(network.apply, rules)(variables, x)
    return outputs, seen
