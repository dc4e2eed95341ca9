"""Programs whose weights are normal random numbers, with less variance than one shared draw of them.

Examples of a mini-batch that share one draw of the weights share its error.  Here every example has weights
of its own, as far as that costs little.  With means ``m`` and scales ``s`` of the weights, the program is
rewritten.

*Local*: where an example ``x`` meets a weight once, as in a dense layer, the sum itself is drawn, with ``e``
for every example and output:

    x m + sqrt(x^2 s^2) e,    e ~ N(0, 1)

*Flipout*: where an example meets a weight at many positions, as in a convolution or at every token of a text,
all examples share one draw ``e`` of the noise, and every example has signs ``r`` and ``t`` of its own, for
inputs and outputs:

    x m + ((x r) (s e)) t

Signs change nothing about the distribution of the weights that one example sees, and are independent for any
two examples.

A weight that is spread over examples, as a bias is, has noise of its own for every example.  A weight that
reaches anything else (a loop, a table that is looked up, another parameter), or two places at once, is drawn
once for all examples.

The axis over examples of a value is found by tracing the program for one example more: it is the axis that
grew.

References: Kingma, Salimans & Welling (2015), Variational dropout and the local reparameterization trick; Wen
et al. (2018), Flipout: efficient pseudo-independent weight perturbations on mini-batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.extend.core import Jaxpr, JaxprEqn

from symbayes import trees
from symbayes.posterior.numerics.rewriting import ELSE, bind, evaluated, flat_program

Estimator = Literal["local", "flipout", "shared"]

MOVING = ("reshape", "transpose", "squeeze", "expand_dims", "convert_element_type", "copy")
"""Primitives that change nothing but the form of a weight, as does spreading it over axes of size one."""

ELEMENTWISE = ("add", "sub", "mul", "div", "max", "min")

SMALLEST = 1e-20
"""Variance below which a sum has no noise: the derivative of a root is not finite at zero."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Use:
    """Where a parameter goes, and the noise that it takes there.

    Attributes:
        kind: local, flipout, spread or once.
        noise: shape of its normal noise.
        signs: for flipout, shapes of the signs of inputs and outputs.
    """

    kind: Literal["local", "flipout", "spread", "once"]
    noise: Shape
    signs: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class Weight:
    """A parameter on its way to its use."""

    name: str
    mean: jax.Array
    scale: jax.Array


def noisy(
    function: Callable[..., Any], means: Any, scales: Any, x: jax.Array, key: jax.Array, estimator: Estimator
) -> Any:
    """``function(params, x)``, whose outputs have the noise of normal parameters; `x` has examples first."""
    program, form = flat_program(function, means, x)
    uses, ends = _uses(function, program.jaxpr, means, x, estimator)
    noise, signs = _drawn(uses, key)
    flat_means, flat_scales = trees.flatten(means), trees.flatten(scales)

    def weight(name: str) -> Any:
        mean, scale = flat_means[name], flat_scales[name]
        return mean + scale * noise[name] if uses[name].kind == "once" else Weight(name, mean, scale)

    def rule(eqn: JaxprEqn, *inputs: Any) -> Sequence[Any] | None:
        place = next((i for i, value in enumerate(inputs) if isinstance(value, Weight)), None)
        if place is None:
            return None
        given: Weight = inputs[place]

        def with_operand(operand: jax.Array, other: Any = None) -> jax.Array:
            operands = list(inputs)
            operands[place] = operand
            if other is not None:
                operands[1 - place] = other
            return bind(eqn, operands)[0]

        if id(eqn) not in ends:
            return [Weight(given.name, with_operand(given.mean), with_operand(given.scale))]
        own = noise[given.name]
        match uses[given.name].kind:
            case "local":
                x = inputs[1 - place]
                variance = with_operand(given.scale**2, x**2)
                return [with_operand(given.mean) + jnp.sqrt(jnp.maximum(variance, SMALLEST)) * own]
            case "flipout":
                r, t = signs[given.name]
                turned = with_operand(given.scale * own, inputs[1 - place] * r)
                return [with_operand(given.mean) + turned * t]
            case _ if eqn.primitive.name == "broadcast_in_dim":
                return [with_operand(given.mean) + with_operand(given.scale) * own]
            case _:
                return [with_operand(given.mean + given.scale * own)]

    arguments = [*map(weight, trees.jax_names(means)), x]
    outputs = evaluated(program, arguments, {ELSE: rule})
    return jax.tree.unflatten(form, outputs)


def uses_of(function: Callable[..., Any], means: Any, x: Any, estimator: Estimator) -> dict[str, Use]:
    """How every parameter of ``function(params, x)`` is used, by its name; nothing is computed."""
    program, _ = flat_program(function, means, x)
    return _uses(function, program.jaxpr, means, x, estimator)[0]


def _drawn(uses: dict[str, Use], key: jax.Array) -> tuple[dict[str, Any], dict[str, Any]]:
    """The noise and the signs of every parameter, each from one stream."""
    normal, coins = jax.random.split(key)

    def shaped(shape: Shape) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    def signs(count: int) -> jax.Array:
        return 1 - 2 * (jax.random.bits(coins, (count,), jnp.uint8) & 1).astype(jnp.float32)

    noise = {name: shaped(use.noise) for name, use in uses.items()}
    turned = {name: tuple(map(shaped, use.signs)) for name, use in uses.items() if use.signs}
    return trees.random_normal(normal, noise), trees.cut_stream(signs, turned) if turned else {}


def _uses(
    function: Callable[..., Any], program: Jaxpr, means: Any, x: Any, estimator: Estimator
) -> tuple[dict[str, Use], set[int]]:
    """How every parameter is used, and the equations (their identities) in which it is."""
    examples = _example_axes(function, program, means, x)
    users: dict[Any, list[tuple[Any, int]]] = {}
    for eqn in program.eqns:
        for place, variable in enumerate(eqn.invars):
            if not hasattr(variable, "val"):
                users.setdefault(variable, []).append((eqn, place))
    given = set(program.outvars)
    found: dict[str, Use] = {}
    ends: set[int] = set()
    variable: Any
    for name, variable in zip(trees.jax_names(means), program.invars, strict=False):
        use, eqn = Use("once", variable.aval.shape), None
        while len(users.get(variable, ())) == 1 and variable not in given and estimator != "shared":
            ((eqn, place),) = users[variable]
            if not _moves(eqn):
                use = _use(eqn, place, examples, estimator) or use
                break
            (variable,) = eqn.outvars
        found[name] = use
        if eqn is not None and use.kind != "once":
            ends.add(id(eqn))
    return found, ends


def _moves(eqn: Any) -> bool:
    """Whether an equation changes nothing but the form of a parameter."""
    if eqn.primitive.name == "broadcast_in_dim":
        return math.prod(eqn.invars[0].aval.shape) == math.prod(eqn.outvars[0].aval.shape)
    return eqn.primitive.name in MOVING


def _example_axes(function: Callable[..., Any], program: Jaxpr, means: Any, x: Any) -> dict[Any, int]:
    """The axis over examples of every value that has exactly one, and no other axis that grows with them."""
    more = jax.ShapeDtypeStruct((x.shape[0] + 1, *x.shape[1:]), x.dtype)
    larger = flat_program(function, means, more)[0].jaxpr
    same = [eqn.primitive.name for eqn in program.eqns] == [eqn.primitive.name for eqn in larger.eqns]
    pairs = list(zip(program.invars, larger.invars, strict=True)) if same else []
    for one, other in zip(program.eqns, larger.eqns, strict=same) if same else ():
        pairs += zip(one.outvars, other.outvars, strict=True)
    found = {}
    variable: Any
    grown: Any
    for variable, grown in pairs:
        sizes = zip(variable.aval.shape, grown.aval.shape, strict=True)
        changed = [(axis, b - a) for axis, (a, b) in enumerate(sizes) if a != b]
        if [step for _, step in changed] == [1]:
            found[variable] = changed[0][0]
    return found


def _use(eqn: Any, place: int, examples: dict[Any, int], estimator: Estimator) -> Use | None:
    """How an equation uses the parameter in this place; None where the others have no examples, or it is not
    known how."""
    name, shape, out = eqn.primitive.name, eqn.invars[place].aval.shape, eqn.outvars[0]
    axis = examples.get(out)
    if axis is None:
        return None
    size = out.aval.shape[axis]
    if name in ELEMENTWISE:
        return Use("spread", (*shape[:axis], size, *shape[axis + 1 :])) if shape[axis] == 1 else None
    if name == "broadcast_in_dim":
        placed = dict(zip(eqn.params["broadcast_dimensions"], shape, strict=True))
        if placed.get(axis, 1) != 1:
            return None
        return Use("spread", tuple(size if a == axis else placed.get(a, 1) for a in range(out.aval.ndim)))
    if name not in ("dot_general", "conv_general_dilated"):
        return None
    other = eqn.invars[1 - place]
    inputs, outputs = (_dense if name == "dot_general" else _convolved)(eqn, place, examples.get(other))
    if not outputs:
        return None
    positions = math.prod(out.aval.shape) // math.prod(outputs)
    if positions == 1 and estimator == "local":
        return Use("local", out.aval.shape)
    return Use("flipout", shape, (inputs, outputs))


def _dense(eqn: Any, place: int, example: int | None) -> tuple[Shape, Shape]:
    """Shapes of the signs of inputs and outputs of a matrix product; nothing where examples do not go through
    it one by one."""
    contracted, batch = eqn.params["dimension_numbers"]
    other, weight = eqn.invars[1 - place].aval.shape, eqn.invars[place].aval.shape
    if batch[0] or example is None or example in contracted[1 - place]:
        return (), ()
    free = [axis for axis in range(len(other)) if axis not in contracted[1 - place]]
    inputs = tuple(1 if axis in free and axis != example else size for axis, size in enumerate(other))
    rows = [other[axis] if axis == example else 1 for axis in free]
    columns = [size for axis, size in enumerate(weight) if axis not in contracted[place]]
    return inputs, tuple([*rows, *columns] if place == 1 else [*columns, *rows])


def _convolved(eqn: Any, place: int, example: int | None) -> tuple[Shape, Shape]:
    """The same of a convolution."""
    numbers = eqn.params["dimension_numbers"]
    if place == 0 or example != numbers.lhs_spec[0] or eqn.params["batch_group_count"] != 1:
        return (), ()
    x, out = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    inputs = tuple(size if axis in numbers.lhs_spec[:2] else 1 for axis, size in enumerate(x))
    return inputs, tuple(size if axis in numbers.out_spec[:2] else 1 for axis, size in enumerate(out))
