"""Real targets with one known noise scale."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import evaluate
from symbayes.brief import briefly
from symbayes.posterior.likelihoods.likelihood import over_positions, require_finite, shape_words
from symbayes.posterior.likelihoods.normal import GaussianPredictive, log_normal
from symbayes.posterior.likelihoods.scaled import Marginals
from symbayes.pytrees import pytree
from symbayes.specs import require, require_positive
from symbayes.trees import Scalar


@briefly
@pytree
@dataclass(frozen=True)
class Gaussian:
    """Real targets with the network's outputs as means and one known noise scale.

    Targets have the shape of the outputs: (n, k), or (n, ..., k) with positions.
    """

    scale: Scalar = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return over_positions(log_normal(y, outputs, self.scale))

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        require(
            y.ndim >= 1 and y.shape[1:] == outputs[1:] and np.issubdtype(y.dtype, np.floating),
            f"targets have shape {shape_words('n', *outputs[1:])} and are real, "
            f"not {y.dtype} of shape {y.shape}",
        )
        require_finite(y)

    def predict(self, outputs: jax.Array) -> jax.Array:
        return outputs

    def predictive(self, values: np.ndarray) -> GaussianPredictive:
        return GaussianPredictive(values, float(self.scale))

    def running(self, shape: tuple[int, ...]) -> evaluate.RunningMixture:
        return evaluate.RunningMixture.init(shape, float(self.scale))

    def curvature_root(self, outputs: jax.Array) -> jax.Array:
        """``I / scale``."""
        return jnp.broadcast_to(jnp.eye(outputs.shape[-1]), (*outputs.shape, outputs.shape[-1])) / self.scale

    def marginal(self, mean: jax.Array, variance: jax.Array) -> jax.Array:
        """Means, and ``sqrt(scale^2 + v)``."""
        return jnp.concatenate([mean, jnp.sqrt(self.scale**2 + variance)], axis=-1)

    @property
    def marginals(self) -> Marginals:
        return Marginals(self)
