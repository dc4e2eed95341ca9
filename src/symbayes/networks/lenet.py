"""LeNet-5 (LeCun et al. 1998, "Gradient-based learning applied to document recognition")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jax
from flax import nnx

from symbayes.networks.activations import ACTIVATIONS, Activation, require_activation
from symbayes.networks.layers import dropout as dropout_layer
from symbayes.networks.layers import flat, max_pool, require_rate, require_widths
from symbayes.networks.network import NNXNetwork, Spec
from symbayes.specs import require

Pool = Literal["max", "average"]


@dataclass(frozen=True)
class LeNet(Spec):
    """Two 5x5 convolutions of 6 and 16 channels, each with 2x2 pooling, then dense 120, 84 and the head.

    Images of 28x28 are padded to 32x32 by the first convolution.  Every convolution sees all channels, and
    the head is linear; ``activation="tanh", pool="average"`` is closest to the original.  Dropout, if any,
    follows the two dense layers.
    """

    outputs: int = 10
    activation: Activation = "relu"
    pool: Pool = "max"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_widths(outputs=self.outputs)
        require_activation(self.activation)
        require(self.pool in ("max", "average"), f"pool is 'max' or 'average', not {self.pool!r}")
        require_rate(self.dropout)

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        require(
            len(example_shape) == 3 and example_shape[:2] in ((28, 28), (32, 32)),
            "LeNet takes images of 28 x 28 or 32 x 32 pixels with a channel axis, "
            f"not examples of shape {example_shape}: the network 'cnn' takes any size",
        )
        return LeNetModule(self, example_shape, rngs)


class LeNetModule(nnx.Module):
    """Layers are named conv1, conv2, dense1, dense2, head."""

    def __init__(self, spec: LeNet, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> None:
        padding = "SAME" if example_shape[0] == 28 else "VALID"
        self.conv1 = nnx.Conv(example_shape[2], 6, (5, 5), padding=padding, rngs=rngs)
        self.conv2 = nnx.Conv(6, 16, (5, 5), padding="VALID", rngs=rngs)
        self.dense1 = nnx.Linear(5 * 5 * 16, 120, rngs=rngs)
        self.dense2 = nnx.Linear(120, 84, rngs=rngs)
        self.head = nnx.Linear(84, spec.outputs, rngs=rngs)
        self.dropout = dropout_layer(spec.dropout, rngs)
        self.activation = spec.activation
        self.pool = spec.pool

    def __call__(self, x: jax.Array) -> jax.Array:
        activate = ACTIVATIONS[self.activation]
        for convolve in (self.conv1, self.conv2):
            x = activate(convolve(x))
            x = max_pool(x, 2, 2) if self.pool == "max" else nnx.avg_pool(x, (2, 2), strides=(2, 2))
        x = flat(x)
        for dense in (self.dense1, self.dense2):
            x = self.dropout(activate(dense(x)))
        return self.head(x)


def lenet(
    outputs: int = 10, activation: Activation = "relu", pool: Pool = "max", dropout: float = 0.0
) -> NNXNetwork:
    """LeNet-5 for images of 28x28 or 32x32 pixels: 61,706 parameters for MNIST."""
    return NNXNetwork(LeNet(outputs, activation, pool, dropout))
