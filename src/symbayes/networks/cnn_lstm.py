"""A convolutional and recurrent network for text."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from flax import nnx

from symbayes.networks.activations import ACTIVATIONS, Activation, require_activation
from symbayes.networks.layers import PADDING, look_up, require_rate, require_tokens, require_widths
from symbayes.networks.layers import dropout as dropout_layer
from symbayes.networks.network import NNXNetwork, Spec
from symbayes.specs import require

State = tuple[jax.Array, jax.Array]
"""Hidden state and cell, each (n, cells)."""


@dataclass(frozen=True)
class CNNLSTM(Spec):
    """Embedding, convolution over time, max pooling, LSTM, and a linear head on its last state.

    The network for IMDB of Izmailov et al. (2021, "What are Bayesian neural network posteriors really
    like?").  Inputs are integer tokens (n, length) below `vocabulary`.  Token 0 is padding: the LSTM skips
    the steps that would see some of it, and steps are counted from the end of the text, so that padding in
    front changes nothing.  Dropout, if any, follows the embedding.
    """

    vocabulary: int = 20_000
    embedding: int = 128
    filters: int = 64
    kernel: int = 5
    pool: int = 4
    cells: int = 128
    outputs: int = 2
    activation: Activation = "relu"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_widths(
            vocabulary=self.vocabulary,
            embedding=self.embedding,
            filters=self.filters,
            kernel=self.kernel,
            pool=self.pool,
            cells=self.cells,
            outputs=self.outputs,
        )
        require_activation(self.activation)
        require_rate(self.dropout)

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        shortest = self.kernel + self.pool - 1
        require(
            len(example_shape) == 1 and example_shape[0] >= shortest,
            f"this network takes texts of at least {shortest} tokens, not examples of shape {example_shape}",
        )
        return TextNetwork(self, rngs)


class LSTM(nnx.Module):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), from a state of zeros.

    ``i, g, f, o = split(x W + h U + b)``, ``c <- sigmoid(f + 1) c + sigmoid(i) tanh(g)``,
    ``h <- sigmoid(o) tanh(c)``; the 1 lets a fresh network remember (Jozefowicz et al. 2015).
    """

    def __init__(self, inputs: int, cells: int, rngs: nnx.Rngs) -> None:
        initial = nnx.initializers.lecun_normal()
        self.kernel = nnx.Param(initial(rngs.params(), (inputs, 4 * cells), jnp.float32))
        self.recurrent = nnx.Param(initial(rngs.params(), (cells, 4 * cells), jnp.float32))
        self.bias = nnx.Param(jnp.zeros(4 * cells))

    def __call__(self, x: jax.Array, skipped: jax.Array) -> jax.Array:
        """The last hidden state (n, cells) of sequences (n, time, inputs); it stays as it is in steps that
        are `skipped` (n, time)."""
        recurrent = self.recurrent[...]
        driven = jnp.moveaxis(x @ self.kernel[...] + self.bias[...], 1, 0)

        def step(state: State, now: tuple[jax.Array, jax.Array]) -> tuple[State, None]:
            (hidden, cell), (drive, skip) = state, now
            gate, candidate, forget, output = jnp.split(drive + hidden @ recurrent, 4, axis=-1)
            new_cell = jax.nn.sigmoid(forget + 1) * cell + jax.nn.sigmoid(gate) * jnp.tanh(candidate)
            new_hidden = jax.nn.sigmoid(output) * jnp.tanh(new_cell)
            return (jnp.where(skip, hidden, new_hidden), jnp.where(skip, cell, new_cell)), None

        zeros = jnp.zeros((x.shape[0], recurrent.shape[0]), driven.dtype)
        (hidden, _), _ = jax.lax.scan(step, (zeros, zeros), (driven, skipped.T[:, :, None]))
        return hidden


class TextNetwork(nnx.Module):
    """Layers are named embedding, conv, lstm, head."""

    def __init__(self, spec: CNNLSTM, rngs: nnx.Rngs) -> None:
        self.embedding = nnx.Param(jax.random.normal(rngs.params(), (spec.vocabulary, spec.embedding)))
        self.conv = nnx.Conv(spec.embedding, spec.filters, (spec.kernel,), padding="VALID", rngs=rngs)
        self.lstm = LSTM(spec.filters, spec.cells, rngs)
        self.head = nnx.Linear(spec.cells, spec.outputs, rngs=rngs)
        self.dropout = dropout_layer(spec.dropout, rngs)
        self.activation = spec.activation
        self.pool = spec.pool
        self.window = spec.kernel + spec.pool - 1

    def __call__(self, x: jax.Array) -> jax.Array:
        require_tokens(x)
        x = x[:, (x.shape[1] - self.window) % self.pool :]
        padded = (x == PADDING).astype(jnp.float32)[:, :, None]
        skipped = nnx.max_pool(padded, (self.window,), strides=(self.pool,))[:, :, 0] > 0
        x = self.dropout(look_up(self.embedding[...], x))
        x = ACTIVATIONS[self.activation](self.conv(x))
        x = nnx.max_pool(x, (self.pool,), strides=(self.pool,))
        return self.head(self.lstm(x, skipped))


def cnn_lstm(
    outputs: int = 2,
    vocabulary: int = 20_000,
    embedding: int = 128,
    filters: int = 64,
    kernel: int = 5,
    pool: int = 4,
    cells: int = 128,
    activation: Activation = "relu",
    dropout: float = 0.0,
) -> NNXNetwork:
    """Convolution and LSTM on integer tokens: 2,700,098 parameters for IMDB."""
    return NNXNetwork(
        CNNLSTM(vocabulary, embedding, filters, kernel, pool, cells, outputs, activation, dropout)
    )
