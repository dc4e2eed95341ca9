"""The multi-layer perceptron: dense layers with an activation between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import jax
from flax import nnx

from symbayes.networks.network import NNXNetwork, Spec
from symbayes.specs import require

Activation = Literal["relu", "leaky_relu", "tanh", "silu", "gelu"]

ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": jax.nn.relu,
    "leaky_relu": jax.nn.leaky_relu,
    "tanh": jax.numpy.tanh,
    "silu": jax.nn.silu,
    "gelu": jax.nn.gelu,
}


@dataclass(frozen=True)
class MLP(Spec):
    """Inputs are flattened; hidden layers of the given widths; one linear output layer."""

    hidden: tuple[int, ...] = (32,)
    outputs: int = 10
    activation: Activation = "relu"
    bias: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        require(
            all(isinstance(width, int) and width > 0 for width in (*self.hidden, self.outputs)),
            f"layer widths are positive integers, not {self.hidden} and {self.outputs}",
        )
        require(
            self.activation in ACTIVATIONS,
            f"unknown activation {self.activation!r}: choose one of {', '.join(ACTIVATIONS)}",
        )

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return Perceptron(self, math.prod(example_shape), rngs)


class Perceptron(nnx.Module):
    """Layers are named hidden1, hidden2, ..., output."""

    def __init__(self, spec: MLP, inputs: int, rngs: nnx.Rngs) -> None:
        self.names = (*(f"hidden{i + 1}" for i in range(len(spec.hidden))), "output")
        self.activation = spec.activation
        widths = (inputs, *spec.hidden, spec.outputs)
        for name, fan_in, fan_out in zip(self.names, widths[:-1], widths[1:], strict=True):
            setattr(self, name, nnx.Linear(fan_in, fan_out, use_bias=spec.bias, rngs=rngs))

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x.reshape(x.shape[0], -1)
        for name in self.names[:-1]:
            x = ACTIVATIONS[self.activation](getattr(self, name)(x))
        return getattr(self, self.names[-1])(x)


def mlp(
    hidden: Sequence[int] = (32,), outputs: int = 10, activation: Activation = "relu", bias: bool = True
) -> NNXNetwork:
    """A multi-layer perceptron, as in ``mlp(hidden=(512, 512), outputs=10)``."""
    return NNXNetwork(MLP(tuple(hidden), outputs, activation, bias))
