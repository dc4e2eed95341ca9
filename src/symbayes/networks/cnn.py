"""A small plain convolutional network without normalisation, for images of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
from flax import nnx

from symbayes.networks.activations import ACTIVATIONS, Activation, require_activation
from symbayes.networks.layers import dropout as dropout_layer
from symbayes.networks.layers import flat, max_pool, require_image, require_rate, require_widths, widths
from symbayes.networks.network import NNXNetwork, Spec


@dataclass(frozen=True)
class CNN(Spec):
    """For each number of channels a 3x3 convolution, the activation and 2x2 max pooling; then dense layers
    of the given widths on the flattened rest, and a linear head.

    Dropout, if any, follows every hidden dense layer.
    """

    channels: tuple[int, ...] = (16, 32)
    hidden: tuple[int, ...] = (64,)
    outputs: int = 10
    activation: Activation = "relu"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "hidden", tuple(self.hidden))
        require_widths(channels=self.channels, hidden=self.hidden, outputs=self.outputs)
        require_activation(self.activation)
        require_rate(self.dropout)

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return PlainConvolutional(self, require_image(example_shape, 2 ** len(self.channels)), rngs)


class PlainConvolutional(nnx.Module):
    """Layers are named conv1, conv2, ..., hidden1, ..., head."""

    def __init__(self, spec: CNN, image: tuple[int, int, int], rngs: nnx.Rngs) -> None:
        height, width, depth = image
        self.convolutions = tuple(f"conv{i + 1}" for i in range(len(spec.channels)))
        for name, channels in zip(self.convolutions, spec.channels, strict=True):
            setattr(self, name, nnx.Conv(depth, channels, (3, 3), padding="SAME", rngs=rngs))
            height, width, depth = height // 2, width // 2, channels
        self.hidden = tuple(f"hidden{i + 1}" for i in range(len(spec.hidden)))
        fan_in = height * width * depth
        for name, fan_out in zip(self.hidden, spec.hidden, strict=True):
            setattr(self, name, nnx.Linear(fan_in, fan_out, rngs=rngs))
            fan_in = fan_out
        self.head = nnx.Linear(fan_in, spec.outputs, rngs=rngs)
        self.dropout = dropout_layer(spec.dropout, rngs)
        self.activation = spec.activation

    def __call__(self, x: jax.Array) -> jax.Array:
        activate = ACTIVATIONS[self.activation]
        for name in self.convolutions:
            x = max_pool(activate(getattr(self, name)(x)), 2, 2)
        x = flat(x)
        for name in self.hidden:
            x = self.dropout(activate(getattr(self, name)(x)))
        return self.head(x)


def cnn(
    channels: Sequence[int] = (16, 32),
    hidden: Sequence[int] = (64,),
    outputs: int = 10,
    activation: Activation = "relu",
    dropout: float = 0.0,
) -> NNXNetwork:
    """A plain convolutional network, as in ``cnn(channels=(16, 32), hidden=(64,), outputs=10)``."""
    return NNXNetwork(CNN(widths(channels=channels), widths(hidden=hidden), outputs, activation, dropout))
