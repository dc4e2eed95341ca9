"""The multi-layer perceptron: dense layers with an activation between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax
from flax import nnx

from symbayes.networks.activations import ACTIVATIONS, Activation, require_activation
from symbayes.networks.layers import dropout as dropout_layer
from symbayes.networks.layers import flat, require_rate, widths
from symbayes.networks.network import NNXNetwork, Spec
from symbayes.specs import require


@dataclass(frozen=True)
class MLP(Spec):
    """Inputs are flattened; hidden layers of the given widths; one linear output layer.

    Outputs may have a shape, as in ``outputs=(8, 4, 1)`` for a picture.  Dropout, if any, follows every
    hidden layer.
    """

    hidden: tuple[int, ...] = (32,)
    outputs: int | tuple[int, ...] = 10
    activation: Activation = "relu"
    bias: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        require(
            all(isinstance(width, int) and width > 0 for width in (*self.hidden, *self.shape)),
            f"layer widths are positive integers, not {self.hidden} and {self.outputs}",
        )
        require_activation(self.activation)
        require_rate(self.dropout)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the outputs for one example."""
        return self.outputs if isinstance(self.outputs, tuple) else (self.outputs,)

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return Perceptron(self, math.prod(example_shape), rngs)


class Perceptron(nnx.Module):
    """Layers are named hidden1, hidden2, ..., output."""

    def __init__(self, spec: MLP, inputs: int, rngs: nnx.Rngs) -> None:
        self.names = (*(f"hidden{i + 1}" for i in range(len(spec.hidden))), "output")
        self.activation = spec.activation
        self.shape = spec.shape
        sizes = (inputs, *spec.hidden, math.prod(spec.shape))
        for name, fan_in, fan_out in zip(self.names, sizes[:-1], sizes[1:], strict=True):
            setattr(self, name, nnx.Linear(fan_in, fan_out, use_bias=spec.bias, rngs=rngs))
        self.dropout = dropout_layer(spec.dropout, rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = flat(x)
        for name in self.names[:-1]:
            x = self.dropout(ACTIVATIONS[self.activation](getattr(self, name)(x)))
        x = getattr(self, self.names[-1])(x)
        return x if len(self.shape) == 1 else x.reshape(len(x), *self.shape)


def mlp(
    hidden: Sequence[int] = (32,),
    outputs: int | tuple[int, ...] = 10,
    activation: Activation = "relu",
    bias: bool = True,
    dropout: float = 0.0,
) -> NNXNetwork:
    """A multi-layer perceptron, as in ``mlp(hidden=(512, 512), outputs=10)``."""
    return NNXNetwork(MLP(widths(hidden=hidden), outputs, activation, bias, dropout))
