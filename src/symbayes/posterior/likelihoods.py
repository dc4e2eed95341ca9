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

from symbayes.pytrees import pytree
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
        """What a predictive keeps per draw: probabilities, means, or means and scales."""
        ...


@pytree
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


@pytree
@dataclass(frozen=True)
class Gaussian:
    """Real targets with the network's outputs as means and one known noise scale."""

    scale: Any = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return _log_normal(y, outputs, self.scale)

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        require(
            y.ndim == 2 and np.issubdtype(y.dtype, np.floating) and y.shape[1] == outputs[-1],
            f"targets have shape (n, {outputs[-1]}) and are real, not {y.dtype} of shape {y.shape}",
        )
        _require_finite(y)

    def predict(self, outputs: jax.Array) -> jax.Array:
        return outputs


@pytree
@dataclass(frozen=True)
class HeteroscedasticGaussian:
    """Real targets whose mean and noise scale both are the network's: ``N(m, (floor + softplus(r))^2)``.

    The outputs (n, 2k) are the k means m and then the k raw scales r of targets (n, k).  Without a floor
    the density has no bound: one point that is met exactly can have any.

    Reference: Nix & Weigend (1994), Estimating the mean and variance of the target probability
    distribution.
    """

    floor: Any = 1e-3

    def __post_init__(self) -> None:
        require_positive(floor=self.floor)

    def moments(self, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Means and scales, each (..., k)."""
        means, raw = jnp.split(outputs, 2, axis=-1)
        return means, self.floor + jax.nn.softplus(raw)

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return _log_normal(y, *self.moments(outputs))

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        require(
            y.ndim == 2 and np.issubdtype(y.dtype, np.floating),
            f"targets have shape (n, k) and are real, not {y.dtype} of shape {y.shape}",
        )
        require(
            outputs[-1] == 2 * y.shape[1],
            f"{y.shape[1]} targets with a mean and a scale each need {2 * y.shape[1]} outputs, "
            f"but the network has {outputs[-1]}: make it with outputs={2 * y.shape[1]}",
        )
        _require_finite(y)

    def predict(self, outputs: jax.Array) -> jax.Array:
        return jnp.concatenate(self.moments(outputs), axis=-1)


def _log_normal(y: jax.Array, means: jax.Array, scale: Any) -> jax.Array:
    """``log N(y; means, scale^2)``, summed over the last axis."""
    log_norm = jnp.log(scale) + 0.5 * math.log(2 * math.pi)
    return jnp.sum(-0.5 * ((y - means) / scale) ** 2 - log_norm, axis=-1)


def _require_finite(y: np.ndarray) -> None:
    bad = ~np.isfinite(y).all(axis=1)
    require(
        not bad.any(),
        f"targets hold NaN or infinity in {bad.sum()} of {len(y)} examples, "
        f"first in number {int(bad.argmax())}: remove or repair them",
    )


KINDS: dict[str, type] = {kind.__name__: kind for kind in (Categorical, Gaussian, HeteroscedasticGaussian)}
"""What a run may have recorded as its likelihood, by name."""
