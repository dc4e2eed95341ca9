"""Residual networks for 32x32 images: ResNet-20 with filter response norm, ResNet-18 with batch norm.

Both begin with a 3x3 convolution without pooling, have stages of basic blocks (He et al. 2016, "Deep
residual learning for image recognition") whose later ones halve the image and double the channels, and end
with the mean over positions and a linear head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from flax import nnx

from symbayes.networks.activations import ACTIVATIONS, Activation, require_activation
from symbayes.networks.layers import (
    FilterResponseNorm,
    batch_norm,
    require_image,
    require_rate,
    require_widths,
)
from symbayes.networks.layers import dropout as dropout_layer
from symbayes.networks.network import NNXNetwork, Spec

HE_NORMAL = nnx.initializers.he_normal()


@dataclass(frozen=True)
class Style:
    """How the layers of a residual network are made.

    Strided "SAME" windows begin at the first pixel, those with a padding of one at the pixel before it.
    """

    norm: Callable[[int, nnx.Rngs], Callable[[jax.Array], jax.Array]]
    activation: Activation
    bias: bool
    padding: str | int
    dropout: float = 0.0

    def convolution(self, inputs: int, outputs: int, stride: int, rngs: nnx.Rngs) -> nnx.Conv:
        return self._layer(3, self.padding, inputs, outputs, stride, rngs)

    def projection(self, inputs: int, outputs: int, stride: int, rngs: nnx.Rngs) -> nnx.Conv:
        return self._layer(1, "VALID", inputs, outputs, stride, rngs)

    def _layer(
        self, kernel: int, padding: str | int, inputs: int, outputs: int, stride: int, rngs: nnx.Rngs
    ) -> nnx.Conv:
        return nnx.Conv(
            inputs,
            outputs,
            (kernel, kernel),
            strides=(stride, stride),
            padding=padding,
            use_bias=self.bias,
            kernel_init=HE_NORMAL,
            rngs=rngs,
        )


class Block(nnx.Module):
    """``act(shortcut(x) + norm2(conv2(dropout(act(norm1(conv1(x)))))))``.

    The shortcut is a normalised 1x1 convolution where the shape changes, and else the identity.  Dropout
    between the convolutions follows Zagoruyko and Komodakis (2016, "Wide residual networks").
    """

    def __init__(self, style: Style, inputs: int, outputs: int, stride: int, rngs: nnx.Rngs) -> None:
        self.conv1 = style.convolution(inputs, outputs, stride, rngs)
        self.norm1 = style.norm(outputs, rngs)
        self.dropout = dropout_layer(style.dropout, rngs)
        self.conv2 = style.convolution(outputs, outputs, 1, rngs)
        self.norm2 = style.norm(outputs, rngs)
        self.projects = stride > 1 or inputs != outputs
        if self.projects:
            self.shortcut = style.projection(inputs, outputs, stride, rngs)
            self.shortcut_norm = style.norm(outputs, rngs)
        self.activation = style.activation

    def __call__(self, x: jax.Array) -> jax.Array:
        activate = ACTIVATIONS[self.activation]
        inner = activate(self.norm1(self.conv1(x)))
        inner = self.norm2(self.conv2(self.dropout(inner)))
        outer = self.shortcut_norm(self.shortcut(x)) if self.projects else x
        return activate(outer + inner)


class ResidualNetwork(nnx.Module):
    """Layers are named stem, stem_norm, block1, block2, ..., head."""

    def __init__(
        self, style: Style, stages: Sequence[int], width: int, channels: int, outputs: int, rngs: nnx.Rngs
    ) -> None:
        self.stem = style.convolution(channels, width, 1, rngs)
        self.stem_norm = style.norm(width, rngs)
        self.blocks = tuple(f"block{i + 1}" for i in range(sum(stages)))
        strides = [2 if stage and not block else 1 for stage, n in enumerate(stages) for block in range(n)]
        for name, stride in zip(self.blocks, strides, strict=True):
            setattr(self, name, Block(style, width, width * stride, stride, rngs))
            width *= stride
        self.head = nnx.Linear(width, outputs, kernel_init=HE_NORMAL, rngs=rngs)
        self.activation = style.activation

    def __call__(self, x: jax.Array) -> jax.Array:
        x = ACTIVATIONS[self.activation](self.stem_norm(self.stem(x)))
        for name in self.blocks:
            x = getattr(self, name)(x)
        return self.head(jnp.mean(x, axis=(1, 2)))


@dataclass(frozen=True)
class ResNetFRN(Spec):
    """Three stages of `blocks` basic blocks with filter response norm: ``6 blocks + 2`` layers.

    Convolutions keep their biases, since the norm subtracts no mean.  With `threshold` the norm has its
    learned ``max(., threshold)`` in front of the activation, as in the released code of Izmailov et al.
    (2021, "What are Bayesian neural network posteriors really like?").
    """

    blocks: int = 3
    width: int = 16
    outputs: int = 10
    activation: Activation = "silu"
    threshold: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_widths(blocks=self.blocks, width=self.width, outputs=self.outputs)
        require_activation(self.activation)
        require_rate(self.dropout)

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        channels = require_image(example_shape, 4)[2]

        def norm(width: int, rngs: nnx.Rngs) -> FilterResponseNorm:
            return FilterResponseNorm(width, self.threshold)

        style = Style(norm, self.activation, bias=True, padding="SAME", dropout=self.dropout)
        return ResidualNetwork(style, (self.blocks,) * 3, self.width, channels, self.outputs, rngs)


@dataclass(frozen=True)
class ResNet(Spec):
    """Stages of so many basic blocks with batch norm; convolutions without biases, padded by one pixel."""

    blocks: tuple[int, ...] = (2, 2, 2, 2)
    width: int = 64
    outputs: int = 10
    activation: Activation = "relu"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))
        require_widths(blocks=self.blocks, width=self.width, outputs=self.outputs)
        require_activation(self.activation)
        require_rate(self.dropout)

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        smallest = 2 ** max(0, len(self.blocks) - 1)
        channels = require_image(example_shape, smallest)[2]
        style = Style(batch_norm, self.activation, bias=False, padding=1, dropout=self.dropout)
        return ResidualNetwork(style, self.blocks, self.width, channels, self.outputs, rngs)


def resnet20_frn(
    outputs: int = 10,
    width: int = 16,
    activation: Activation = "silu",
    threshold: bool = False,
    dropout: float = 0.0,
) -> NNXNetwork:
    """ResNet-20 with filter response norm and SiLU: 273,258 parameters for CIFAR-10."""
    return NNXNetwork(ResNetFRN(3, width, outputs, activation, threshold, dropout))


def resnet18(
    outputs: int = 10, width: int = 64, activation: Activation = "relu", dropout: float = 0.0
) -> NNXNetwork:
    """ResNet-18 with a 3x3 stem and batch norm: 11,173,962 parameters for CIFAR-10."""
    return NNXNetwork(ResNet((2, 2, 2, 2), width, outputs, activation, dropout))
