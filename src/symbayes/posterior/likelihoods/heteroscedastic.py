"""Real targets whose noise the network tells too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes.posterior.likelihoods.normal import log_normal, require_finite
from symbayes.pytrees import pytree
from symbayes.specs import require, require_positive


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
        return log_normal(y, *self.moments(outputs))

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
        require_finite(y)

    def predict(self, outputs: jax.Array) -> jax.Array:
        return jnp.concatenate(self.moments(outputs), axis=-1)
