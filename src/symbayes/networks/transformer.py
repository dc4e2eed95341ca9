"""A small transformer encoder for texts, sequences and images read row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from flax import nnx

from symbayes.networks.activations import ACTIVATIONS, Activation, require_activation
from symbayes.networks.layers import PADDING, look_up, require_rate, require_tokens, require_widths
from symbayes.networks.layers import dropout as dropout_layer
from symbayes.networks.network import NNXNetwork, Spec
from symbayes.specs import require

UNATTENDED = -1e9
"""The score of padding, whose weight it makes exactly zero."""


@dataclass(frozen=True)
class Transformer(Spec):
    """A pre-norm encoder (Vaswani et al. 2017; Xiong et al. 2020) with learned positions.

    With `vocabulary`, inputs are integer tokens (n, length) and are looked up in an embedding; token 0 is
    padding, which nothing attends to and the mean leaves out.  Without, inputs are sequences
    (n, length, features), or images (n, height, width, channels) whose rows are the sequence, projected
    linearly.  After the blocks come a layer norm, the mean over the sequence and a linear head.  Dropout, if
    any, follows each attention and each perceptron.  `query_bias` and `epsilon`, which layer norms add to
    variances, are for networks that were trained elsewhere: PyTorch has biases, and an epsilon of 1e-5.
    """

    vocabulary: int | None = None
    width: int = 64
    heads: int = 4
    layers: int = 2
    hidden: int = 128
    outputs: int = 10
    activation: Activation = "gelu"
    dropout: float = 0.0
    query_bias: bool = False
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        require_widths(
            vocabulary=1 if self.vocabulary is None else self.vocabulary,
            width=self.width,
            heads=self.heads,
            layers=self.layers,
            hidden=self.hidden,
            outputs=self.outputs,
        )
        require(
            self.width % self.heads == 0,
            f"the width {self.width} does not divide into {self.heads} heads of equal size",
        )
        require_activation(self.activation)
        require_rate(self.dropout)
        require(self.epsilon > 0, f"epsilon is a positive number, not {self.epsilon!r}")

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        if self.vocabulary is None:
            require(
                len(example_shape) in (2, 3),
                "without a vocabulary the transformer takes sequences (length, features) or images "
                f"(height, width, channels), not examples of shape {example_shape}",
            )
        else:
            require(
                len(example_shape) == 1,
                "with a vocabulary the transformer takes tokens (length,), "
                f"not examples of shape {example_shape}",
            )
        return Encoder(self, example_shape, rngs)


class Attention(nnx.Module):
    """Multi-head self-attention, ``softmax(Q K' / sqrt(d)) V`` per head.

    The output has a bias, and queries may: a key's changes nothing, and a value's is one of the output.
    `real` (n, length) says which positions may be attended to; where none may, all are alike.
    """

    def __init__(self, width: int, heads: int, query_bias: bool, rngs: nnx.Rngs) -> None:
        self.query = nnx.Linear(width, width, use_bias=query_bias, rngs=rngs)
        self.key = nnx.Linear(width, width, use_bias=False, rngs=rngs)
        self.value = nnx.Linear(width, width, use_bias=False, rngs=rngs)
        self.output = nnx.Linear(width, width, rngs=rngs)
        self.heads = heads

    def __call__(self, x: jax.Array, real: jax.Array | None) -> jax.Array:
        split = (*x.shape[:2], self.heads, x.shape[2] // self.heads)
        query, key, value = (part(x).reshape(split) for part in (self.query, self.key, self.value))
        scores = jnp.einsum("nqhd,nkhd->nhqk", query, key) / math.sqrt(split[-1])
        if real is not None:
            scores = jnp.where(real[:, None, None, :], scores, UNATTENDED)
        mixed = jnp.einsum("nhqk,nkhd->nqhd", jax.nn.softmax(scores), value)
        return self.output(mixed.reshape(x.shape))


class EncoderBlock(nnx.Module):
    """``x <- x + attention(norm1(x))``, then ``x <- x + down(act(up(norm2(x))))``."""

    def __init__(self, spec: Transformer, rngs: nnx.Rngs) -> None:
        self.norm1 = layer_norm(spec.width, spec.epsilon, rngs)
        self.attention = Attention(spec.width, spec.heads, spec.query_bias, rngs)
        self.norm2 = layer_norm(spec.width, spec.epsilon, rngs)
        self.up = nnx.Linear(spec.width, spec.hidden, rngs=rngs)
        self.down = nnx.Linear(spec.hidden, spec.width, rngs=rngs)
        self.dropout1 = dropout_layer(spec.dropout, rngs)
        self.dropout2 = dropout_layer(spec.dropout, rngs)
        self.activation = spec.activation

    def __call__(self, x: jax.Array, real: jax.Array | None) -> jax.Array:
        x = x + self.dropout1(self.attention(self.norm1(x), real))
        inner = ACTIVATIONS[self.activation](self.up(self.norm2(x)))
        return x + self.dropout2(self.down(inner))


class Encoder(nnx.Module):
    """Layers are named embedding or rows, position, block1, block2, ..., norm, head."""

    def __init__(self, spec: Transformer, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> None:
        self.reads_tokens = spec.vocabulary is not None
        if spec.vocabulary is not None:
            self.embedding = nnx.Param(jax.random.normal(rngs.params(), (spec.vocabulary, spec.width)))
        else:
            self.rows = nnx.Linear(math.prod(example_shape[1:]), spec.width, rngs=rngs)
        self.position = nnx.Param(0.02 * jax.random.normal(rngs.params(), (example_shape[0], spec.width)))
        self.blocks = tuple(f"block{i + 1}" for i in range(spec.layers))
        for name in self.blocks:
            setattr(self, name, EncoderBlock(spec, rngs))
        self.norm = layer_norm(spec.width, spec.epsilon, rngs)
        self.head = nnx.Linear(spec.width, spec.outputs, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        real = None
        if self.reads_tokens:
            require_tokens(x)
            real = x != PADDING
            x = look_up(self.embedding[...], x)
        else:
            x = self.rows(x.reshape(*x.shape[:2], -1))
        x = x + self.position[...]
        for name in self.blocks:
            x = getattr(self, name)(x, real)
        return self.head(pooled(self.norm(x), real))


def pooled(x: jax.Array, real: jax.Array | None) -> jax.Array:
    """The mean over the sequence, or over its real positions; zero where there are none."""
    if real is None:
        return jnp.mean(x, axis=1)
    shares = real / jnp.maximum(1, jnp.sum(real, axis=1, keepdims=True))
    return jnp.einsum("nt,ntd->nd", shares, x)


def layer_norm(width: int, epsilon: float, rngs: nnx.Rngs) -> nnx.LayerNorm:
    """Layer normalisation with the variance from centred values, which does not cancel."""
    return nnx.LayerNorm(width, epsilon=epsilon, use_fast_variance=False, rngs=rngs)


def transformer(
    outputs: int = 10,
    vocabulary: int | None = None,
    width: int = 64,
    heads: int = 4,
    layers: int = 2,
    hidden: int = 128,
    activation: Activation = "gelu",
    dropout: float = 0.0,
    query_bias: bool = False,
    epsilon: float = 1e-6,
) -> NNXNetwork:
    """A pre-norm transformer encoder of tokens (with a vocabulary) or of images' rows (without)."""
    spec = Transformer(
        vocabulary, width, heads, layers, hidden, outputs, activation, dropout, query_bias, epsilon
    )
    return NNXNetwork(spec)
