"""Layers that several networks share, and the checks of their options and inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from symbayes.specs import require

PADDING = 0
"""The token that stands for nothing, with which short texts are filled up."""


class FilterResponseNorm(nnx.Module):
    """Filter response normalisation (Singh and Krishnan 2020, "Filter response normalization layer").

    ``y = scale * x / sqrt(mean(x^2) + epsilon) + bias``, the mean over the positions of one channel of one
    image, so that no example depends on another.  With `threshold`, that paper's thresholded unit
    ``max(y, threshold)`` follows, learned per channel.
    """

    def __init__(self, channels: int, threshold: bool = False, epsilon: float = 1e-6) -> None:
        self.scale = nnx.Param(jnp.ones(channels))
        self.bias = nnx.Param(jnp.zeros(channels))
        self.threshold = nnx.Param(jnp.zeros(channels)) if threshold else None
        self.epsilon = epsilon

    def __call__(self, x: jax.Array) -> jax.Array:
        power = jnp.mean(jnp.square(x), axis=(1, 2), keepdims=True)
        y = x * jax.lax.rsqrt(power + self.epsilon) * self.scale[...] + self.bias[...]
        return y if self.threshold is None else jnp.maximum(y, self.threshold[...])


def batch_norm(channels: int, rngs: nnx.Rngs) -> nnx.BatchNorm:
    """Batch normalisation whose running statistics keep nine tenths of what they were at every step."""
    return nnx.BatchNorm(channels, momentum=0.9, epsilon=1e-5, use_fast_variance=False, rngs=rngs)


def dropout(rate: float, rngs: nnx.Rngs) -> nnx.Dropout:
    """Dropout with its own stream of masks; without a rate it holds no randomness at all."""
    return nnx.Dropout(rate, rngs=rngs if rate else None)


def max_pool(x: jax.Array, window: int, stride: int, padding: str = "VALID") -> jax.Array:
    """The maximum over square windows of images (n, height, width, channels)."""
    return nnx.max_pool(x, (window, window), strides=(stride, stride), padding=padding)


def flat(x: jax.Array) -> jax.Array:
    """One vector for each example."""
    return x.reshape(x.shape[0], -1)


def widths(**given: Any) -> tuple[int, ...]:
    """The widths of some layers, given as a sequence."""
    ((name, value),) = given.items()
    require(
        isinstance(value, Sequence) and not isinstance(value, str),
        f"{name} has a width for each layer, as in {name}=[32], not {value!r}",
    )
    return tuple(value)


def require_widths(**widths: int | Sequence[int]) -> None:
    """Refuse sizes that are not positive integers."""
    for name, given in widths.items():
        sizes = [given] if isinstance(given, int) else given
        require(
            all(isinstance(size, int) and size > 0 for size in sizes),
            f"{name} must be positive integers, not {given!r}",
        )


def require_rate(dropout: float) -> None:
    """Refuse a rate of dropout that is not a probability below one."""
    require(0 <= dropout < 1, f"dropout is a rate from 0 up to, not including, 1, not {dropout!r}")


def require_image(example_shape: tuple[int, ...], smallest: int) -> tuple[int, int, int]:
    """Height, width and channels of the images, which have at least `smallest` pixels on each side."""
    require(
        len(example_shape) == 3 and min(example_shape[:2]) >= smallest,
        "this network takes images of shape (height, width, channels) "
        f"with at least {smallest} x {smallest} pixels, not examples of shape {example_shape}",
    )
    height, width, channels = example_shape
    return height, width, channels


def require_tokens(x: jax.Array) -> None:
    """Refuse inputs that are not whole numbers."""
    if not jnp.issubdtype(x.dtype, jnp.integer):
        raise TypeError(f"this network takes integer tokens of shape (examples, length), not {x.dtype}")


def look_up(table: jax.Array, tokens: jax.Array) -> jax.Array:
    """The rows of an embedding; a token outside of the vocabulary gives NaN and not another word's row."""
    return jnp.take(table, tokens, axis=0, mode="fill", fill_value=jnp.nan)
