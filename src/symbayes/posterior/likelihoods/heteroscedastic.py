"""Real targets whose noise the network tells too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import evaluate
from symbayes.posterior.likelihoods.likelihood import over_positions, require_finite, shape_words
from symbayes.posterior.likelihoods.normal import GaussianPredictive, log_normal
from symbayes.pytrees import pytree
from symbayes.specs import require, require_positive


@pytree
@dataclass(frozen=True)
class HeteroscedasticGaussian:
    """Real targets whose mean and noise scale both are the network's: ``N(m, (floor + softplus(r))^2)``.

    The outputs (n, 2k) are the k means m and then the k raw scales r of targets (n, k); with positions they
    are (n, ..., 2k) for targets (n, ..., k).  Without a floor the density has no bound: one point that is met
    exactly can have any.

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
        return over_positions(log_normal(y, *self.moments(outputs)))

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        places = outputs[1:-1]
        require(
            y.ndim == len(outputs) and y.shape[1:-1] == places and np.issubdtype(y.dtype, np.floating),
            f"targets have shape {shape_words('n', *places, 'k')} and are real, "
            f"not {y.dtype} of shape {y.shape}",
        )
        targets = y.shape[-1]
        require(
            outputs[-1] == 2 * targets,
            f"{targets} targets with a mean and a scale each need {2 * targets} outputs, "
            f"but the network has {outputs[-1]}: make it with outputs={2 * targets}",
        )
        require_finite(y)

    def predict(self, outputs: jax.Array) -> jax.Array:
        return jnp.concatenate(self.moments(outputs), axis=-1)

    def predictive(self, values: np.ndarray) -> GaussianPredictive:
        return GaussianPredictive(*np.split(values, 2, axis=-1))

    def running(self, shape: tuple[int, ...]) -> evaluate.RunningMixture:
        return evaluate.RunningMixture.init((*shape[:-1], shape[-1] // 2), None)
