"""A network like AlexNet for small images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
from flax import nnx

from symbayes.networks.activations import ACTIVATIONS, Activation, require_activation
from symbayes.networks.layers import dropout as dropout_layer
from symbayes.networks.layers import flat, max_pool, require_image, require_rate, require_widths, widths
from symbayes.networks.network import NNXNetwork, Spec
from symbayes.specs import require

KERNELS = (5, 5, 3, 3, 3)
POOLED = (True, True, False, False, True)


@dataclass(frozen=True)
class AlexNet(Spec):
    """AlexNet (Krizhevsky et al. 2012) for 32x32: its five convolutions and two hidden dense layers, with the
    kernels and strides that small images need, and without local response normalisation.

        conv1  5x5, 64 channels      max pool 3x3, stride 2    32 -> 16
        conv2  5x5, 192 channels     max pool 3x3, stride 2    16 -> 8
        conv3  3x3, 384 channels
        conv4  3x3, 256 channels
        conv5  3x3, 256 channels     max pool 3x3, stride 2     8 -> 4
        dense1 512, dense2 512, head

    Every layer but the head is followed by the activation; all windows are padded ("SAME").  Dropout, if
    any, stands before each hidden dense layer, as in the original (with rate 0.5 there).
    """

    channels: tuple[int, ...] = (64, 192, 384, 256, 256)
    dense: tuple[int, ...] = (512, 512)
    outputs: int = 10
    activation: Activation = "relu"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "dense", tuple(self.dense))
        require_widths(channels=self.channels, dense=self.dense, outputs=self.outputs)
        require(
            len(self.channels) == 5 and len(self.dense) == 2,
            "AlexNet has five convolutions and two hidden dense layers, "
            f"not channels {self.channels} and dense {self.dense}",
        )
        require_activation(self.activation)
        require_rate(self.dropout)

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return AlexNetModule(self, require_image(example_shape, 8), rngs)


class AlexNetModule(nnx.Module):
    """Layers are named conv1 to conv5, dense1, dense2, head."""

    def __init__(self, spec: AlexNet, image: tuple[int, int, int], rngs: nnx.Rngs) -> None:
        height, width, depth = image
        for i, (channels, kernel, pooled) in enumerate(zip(spec.channels, KERNELS, POOLED, strict=True)):
            convolution = nnx.Conv(depth, channels, (kernel, kernel), padding="SAME", rngs=rngs)
            setattr(self, f"conv{i + 1}", convolution)
            depth = channels
            if pooled:
                height, width = -(-height // 2), -(-width // 2)
        self.dense1 = nnx.Linear(height * width * depth, spec.dense[0], rngs=rngs)
        self.dense2 = nnx.Linear(*spec.dense, rngs=rngs)
        self.head = nnx.Linear(spec.dense[1], spec.outputs, rngs=rngs)
        self.dropout = dropout_layer(spec.dropout, rngs)
        self.activation = spec.activation

    def __call__(self, x: jax.Array) -> jax.Array:
        activate = ACTIVATIONS[self.activation]
        for i, pooled in enumerate(POOLED):
            x = activate(getattr(self, f"conv{i + 1}")(x))
            x = max_pool(x, 3, 2, "SAME") if pooled else x
        x = flat(x)
        for dense in (self.dense1, self.dense2):
            x = activate(dense(self.dropout(x)))
        return self.head(x)


def alexnet(
    outputs: int = 10,
    channels: Sequence[int] = (64, 192, 384, 256, 256),
    dense: Sequence[int] = (512, 512),
    activation: Activation = "relu",
    dropout: float = 0.0,
) -> NNXNetwork:
    """A network like AlexNet for images of 32x32 pixels: 4,816,714 parameters for CIFAR-10."""
    return NNXNetwork(AlexNet(widths(channels=channels), widths(dense=dense), outputs, activation, dropout))
