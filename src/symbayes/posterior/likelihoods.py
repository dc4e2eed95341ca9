"""Likelihoods: the log probability of targets under a network's outputs.

A likelihood is a frozen dataclass and a pytree: its kind is static, its scales are leaves, so
another scale never compiles again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from symbayes.specs import require, require_positive


@runtime_checkable
class Likelihood(Protocol):
    """The law of one target given the network's outputs for its input."""

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        """Per example: outputs (n, k) and targets with n rows give (n,)."""
        ...

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        """Refuse targets that do not fit outputs of this shape."""
        ...

    def predict(self, outputs: jax.Array) -> jax.Array:
        """What a predictive keeps per draw: probabilities or means."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Categorical:
    """Labels 0..k-1 with logits as outputs: ``log p(y) = z_y - logsumexp(z)``."""

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        # A comparison, not a gather: its gradient is element-wise and not a scatter.
        chosen = jnp.arange(outputs.shape[-1]) == y[:, None]
        return jnp.sum(jnp.where(chosen, jax.nn.log_softmax(outputs), 0.0), axis=-1)

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        require(
            y.ndim == 1 and np.issubdtype(y.dtype, np.integer),
            f"labels are one integer per example, not {y.dtype} of shape {y.shape}",
        )
        classes = outputs[-1]
        require(
            y.size == 0 or (y.min() >= 0 and y.max() < classes),
            f"labels run from {y.min(initial=0)} to {y.max(initial=0)}, "
            f"but the network has outputs for 0 to {classes - 1}",
        )

    def predict(self, outputs: jax.Array) -> jax.Array:
        return jax.nn.softmax(outputs)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Gaussian:
    """Real targets with the network's outputs as means and one known noise scale."""

    scale: Any = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        z = (y - outputs) / self.scale
        log_norm = jnp.log(self.scale) + 0.5 * math.log(2 * math.pi)
        return jnp.sum(-0.5 * z**2 - log_norm, axis=-1)

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        require(
            y.ndim == 2 and np.issubdtype(y.dtype, np.floating) and y.shape[1] == outputs[-1],
            f"targets have shape (n, {outputs[-1]}) and are real, not {y.dtype} of shape {y.shape}",
        )
        bad = ~np.isfinite(y).all(axis=1)
        require(
            not bad.any(),
            f"targets hold NaN or infinity in {bad.sum()} of {len(y)} examples, "
            f"first in number {int(bad.argmax())}: remove or repair them",
        )

    def predict(self, outputs: jax.Array) -> jax.Array:
        return outputs


KINDS: dict[str, type] = {kind.__name__: kind for kind in (Categorical, Gaussian)}
