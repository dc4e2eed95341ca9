"""Dropout for networks that have none: inputs of a layer are dropped at random, where a key is given.

Layers are the products that parameters enter (`curvature/products.py` finds them in the program); those that
see the network's inputs themselves are left as they are.  With a rate ``p`` every number is dropped with this
probability, and what is left is divided by ``1 - p``.

References: Srivastava et al. (2014), Dropout: a simple way to prevent neural networks from overfitting;
Tompson et al. (2015), Efficient object localization using convolutional networks (whole channels).
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.extend.core import Jaxpr, JaxprEqn
from jax.extend.core import Literal as Constant
from jax.typing import DTypeLike

from symbayes import trees
from symbayes.networks import Network
from symbayes.networks.network import Spec
from symbayes.networks.traced import traced
from symbayes.posterior.curvature.products import Product, products
from symbayes.posterior.numerics.rewriting import JIT, bind, rewritten
from symbayes.posterior.posterior import Posterior
from symbayes.specs import require
from symbayes.trees import Variables

Mask = Literal["element", "channel", "functional"]
"""What is dropped: single numbers; whole channels of an example, or features of all its positions; or numbers
that are the same for all examples, so that a key makes one function."""


@dataclass(frozen=True)
class WithDropout(Spec):
    """A network, by its spec, with dropout in front of its hidden layers."""

    inner: Any
    rate: float
    mask: Mask = "element"

    def network(self) -> DroppedNetwork:
        return DroppedNetwork(self, self.inner.network())


@dataclass(frozen=True)
class DroppedNetwork:
    """The network itself in evaluation without a key."""

    spec: WithDropout
    inner: Network

    def init(self, key: jax.Array, x: jax.Array) -> Variables:
        return self.inner.init(key, x)

    def apply(self, variables: Variables, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        if key is None:
            return self.inner.apply(variables, x)
        return self._dropping(lambda v, x, key: self.inner.apply(v, x, key), variables, x, key)

    def apply_train(
        self, variables: Variables, x: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, dict[str, Any]]:
        return self._dropping(self.inner.apply_train, variables, x, key)

    def _dropping(self, function: Callable[..., Any], variables: Any, x: jax.Array, key: jax.Array) -> Any:
        variables = jax.tree.map(jnp.asarray, variables)
        flat, layers = trees.flatten(variables), hidden_layers(self.inner, x.shape[1:], x.dtype)

        def rule(eqn: JaxprEqn, *operands: Any) -> list[Any] | None:
            for number, (name, product) in enumerate(layers.items()):
                if operands[product.side] is flat[name]:
                    own = jax.random.fold_in(key, number)
                    dropped = list(operands)
                    dropped[1 - product.side] = self._dropped(
                        own, product, operands[1 - product.side], len(x)
                    )
                    return bind(eqn, dropped)
            return None

        rules: dict[str, Callable[..., Any]] = {"dot_general": rule, "conv_general_dilated": rule}
        return rewritten(function, rules)(variables, x, key)

    def _dropped(self, key: jax.Array, product: Product, inputs: jax.Array, examples: int) -> jax.Array:
        rate = self.spec.rate
        shape = mask_shape(self.spec.mask, product, inputs.shape, examples)
        kept = jax.random.bernoulli(key, 1 - rate, shape)
        return jnp.where(kept, inputs / (1 - rate), jnp.zeros_like(inputs))


def mask_shape(mask: Mask, product: Product, shape: tuple[int, ...], examples: int) -> tuple[int, ...]:
    """The shape of what is drawn for inputs of this shape, with ones where it is shared."""
    features, example = _axes(product, shape, examples)
    shared = {
        "element": [],
        "channel": [axis for axis in range(len(shape)) if axis not in (*features, example)],
        "functional": [example],
    }[mask]
    return tuple(1 if axis in shared else size for axis, size in enumerate(shape))


def _axes(product: Product, shape: tuple[int, ...], examples: int) -> tuple[tuple[int, ...], int]:
    """Of a product's inputs, the axes over features and the one over examples."""
    numbers = product.params["dimension_numbers"]
    if product.kind == "conv_general_dilated":
        return (numbers.lhs_spec[1],), numbers.lhs_spec[0]
    features = tuple(numbers[0][1 - product.side])
    free = [axis for axis in range(len(shape)) if axis not in features]
    return features, next((axis for axis in free if shape[axis] == examples), free[0] if free else -1)


@functools.lru_cache(maxsize=64)
def hidden_layers(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike) -> dict[str, Product]:
    """The kernels that meet something which parameters made, by name, in the program's order."""
    variables, program = traced(network, tuple(example_shape), dtype)
    names = jax.tree.leaves(trees.map_named(lambda name, _: name, variables))
    known = dict(zip(program.jaxpr.invars, names, strict=False))
    hidden: set[str] = set()
    _follow(program.jaxpr, known, set(known), hidden)
    return {
        name: one for name, one in products(network, tuple(example_shape), dtype).items() if name in hidden
    }


def _follow(program: Jaxpr, known: dict[Any, str], made: set[Any], hidden: set[str]) -> set[Any]:
    """Note the named variables that meet a variable which is `made` of named ones; gives all that are."""
    eqn: JaxprEqn
    for eqn in program.eqns:
        inputs = [None if isinstance(v, Constant) else v for v in eqn.invars]
        if eqn.primitive.name in JIT:
            inner = eqn.params["jaxpr"].jaxpr
            pairs = list(zip(inner.invars, inputs, strict=True))
            _follow(
                inner,
                {own: known[v] for own, v in pairs if v in known},
                {own for own, v in pairs if v in made},
                hidden,
            )
        else:
            for v in inputs:
                if v in known and any(other in made for other in inputs if other is not v):
                    hidden.add(known[v])
        if any(v in made for v in inputs):
            made |= set(eqn.outvars)
    return made


@functools.lru_cache(maxsize=64)
def drops(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike) -> bool:
    """Whether a key changes what a network gives: whether it has dropout, or the like, of its own."""
    variables, _ = traced(network, example_shape, dtype)
    example = jax.ShapeDtypeStruct((1, *example_shape), dtype)
    key = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0)))

    def outputs(key: jax.Array, variables: Any, x: jax.Array) -> jax.Array:
        return network.apply(variables, x, jax.random.wrap_key_data(key))

    program = jax.make_jaxpr(outputs)(key, variables, example).jaxpr
    made = _follow(program, {}, {program.invars[0]}, set())
    return any(v in made for v in program.outvars)


def with_dropout(posterior: Posterior, rate: float, mask: Mask) -> Posterior:
    """The same posterior with dropout in its network, unless that has its own."""
    form = posterior.chunks.x
    if drops(posterior.network, form.shape[2:], form.dtype):
        return posterior
    require(
        bool(hidden_layers(posterior.network, form.shape[2:], form.dtype)),
        "this network has no hidden layer whose inputs could be dropped: use one that has",
    )
    changed = copy.copy(posterior)
    changed.network = WithDropout(posterior.network.spec, rate, mask).network()
    return changed
