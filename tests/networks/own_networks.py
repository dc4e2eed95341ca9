"""Networks as a user would write them, which the tests name by import path."""

from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from flax import nnx

from symbayes import networks


class Small(nnx.Module):
    """An NNX module with a list of layers, batch statistics and dropout."""

    def __init__(self, inputs: int, width: int = 3, outputs: int = 2, *, rngs: nnx.Rngs) -> None:
        widths = (inputs, width, width, outputs)
        self.layers = nnx.List([nnx.Linear(a, b, rngs=rngs) for a, b in pairwise(widths)])
        self.norm = nnx.BatchNorm(width, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = self.dropout(self.norm(jnp.tanh(self.layers[0](x))))
        return self.layers[2](jnp.tanh(self.layers[1](x)))


def make_small(rngs: nnx.Rngs, inputs: int = 4) -> Small:
    return Small(inputs, rngs=rngs)


class SmallEquinox(eqx.Module):
    """An Equinox module of single examples, with a dropout that its call gets a key for."""

    first: eqx.nn.Linear
    dropout: eqx.nn.Dropout
    layers: list[eqx.nn.Linear]

    def __init__(
        self, inputs: int, widths: tuple[int, ...] = (3,), outputs: int = 2, *, key: jax.Array
    ) -> None:
        sizes = (*widths, outputs)
        keys = jax.random.split(key, len(sizes))
        self.first = eqx.nn.Linear(inputs, sizes[0], key=keys[0])
        self.dropout = eqx.nn.Dropout(0.5)
        pairs = zip(sizes[:-1], sizes[1:], keys[1:], strict=True)
        self.layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in pairs]

    def __call__(self, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        x = self.dropout(self.first(x), key=key)
        for layer in self.layers:
            x = layer(jnp.tanh(x))
        return x


def make_small_equinox(key: jax.Array) -> SmallEquinox:
    return SmallEquinox(4, key=key)


def init(key: jax.Array, x: jax.Array, width: int = 3) -> Any:
    """Parameters in lists and tuples."""
    first, second = jax.random.split(key)
    return [
        (jax.random.normal(first, (x.shape[1], width)), jnp.zeros(width)),
        {"head": jax.random.normal(second, (width, 2))},
    ]


def apply(params: Any, inputs: jax.Array, width: int = 3) -> jax.Array:
    (kernel, bias), last = params
    assert kernel.shape[1] == width
    return jnp.tanh(inputs @ kernel + bias) @ last["head"]


def apply_noisy(params: Any, inputs: jax.Array, width: int = 3, key: jax.Array | None = None) -> jax.Array:
    outputs = apply(params, inputs, width)
    return outputs if key is None else outputs + jax.random.normal(key, outputs.shape)


def make_network(outputs: int = 2, hidden: tuple[int, ...] = (3,)) -> networks.Network:
    return networks.mlp(hidden=hidden, outputs=outputs, activation="tanh")


ready = networks.mlp(hidden=(4,), outputs=2)
number = 3


def make_number() -> int:
    return number


def make_wrong_nnx(rngs: nnx.Rngs) -> int:
    return number


def make_wrong_equinox(key: jax.Array) -> int:
    return number


def make_batch_normed(key: jax.Array) -> eqx.Module:
    return eqx.nn.BatchNorm(3, axis_name="batch", mode="batch")
