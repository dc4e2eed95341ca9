"""Real targets with one noise scale for each target, learnt with the weights."""

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
class LearnedNoise:
    """Real targets around the network's outputs, ``N(m, (centre exp(r))^2)``, with r learnt for each target.

    The network is one of `networks.with_noise`: its outputs (n, 2k) are the k means m and then the k log
    scales r, which are the same for all examples; with positions (n, ..., 2k).  A normal prior on r is a
    log-normal prior on the noise around `centre`.
    """

    centre: Any = 0.1

    def __post_init__(self) -> None:
        require_positive(centre=self.centre)

    def moments(self, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Means and scales, each (..., k)."""
        means, raw = jnp.split(outputs, 2, axis=-1)
        return means, self.centre * jnp.exp(raw)

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return over_positions(log_normal(y, *self.moments(outputs)))

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        places = outputs[1:-1]
        require(
            y.ndim == len(outputs) and y.shape[1:-1] == places and np.issubdtype(y.dtype, np.floating),
            f"targets have shape {shape_words('n', *places, 'k')} and are real, "
            f"not {y.dtype} of shape {y.shape}",
        )
        require(
            outputs[-1] == 2 * y.shape[-1],
            f"{y.shape[-1]} targets with a noise scale each need {2 * y.shape[-1]} outputs, but the network "
            f"has {outputs[-1]}: make it with networks.with_noise(network)",
        )
        require_finite(y)

    def predict(self, outputs: jax.Array) -> jax.Array:
        return jnp.concatenate(self.moments(outputs), axis=-1)

    def predictive(self, values: np.ndarray) -> GaussianPredictive:
        return GaussianPredictive(*np.split(values, 2, axis=-1))

    def running(self, shape: tuple[int, ...]) -> evaluate.RunningMixture:
        return evaluate.RunningMixture.init((*shape[:-1], shape[-1] // 2), None)
