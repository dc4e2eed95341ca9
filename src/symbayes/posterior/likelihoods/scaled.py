"""Normal laws whose outputs are means and then as many raw scales."""

from __future__ import annotations

import abc
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import evaluate
from symbayes.posterior.likelihoods.likelihood import over_positions, require_finite, shape_words
from symbayes.posterior.likelihoods.normal import GaussianPredictive, log_normal
from symbayes.specs import require


class MeansAndScales(abc.ABC):
    """What such laws share; each says what the scales are."""

    each: ClassVar[str]
    """What every target has."""
    remedy: ClassVar[str]
    """How a network with so many `outputs` is made."""

    @abc.abstractmethod
    def moments(self, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Means and scales, each (..., k)."""

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return over_positions(log_normal(y, *self.moments(outputs)))

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        places = outputs[1:-1]
        require(
            y.ndim == len(outputs) and y.shape[1:-1] == places and np.issubdtype(y.dtype, np.floating),
            f"targets have shape {shape_words('n', *places, 'k')} and are real, "
            f"not {y.dtype} of shape {y.shape}",
        )
        needed = 2 * y.shape[-1]
        require(
            outputs[-1] == needed,
            f"{y.shape[-1]} targets with {self.each} each need {needed} outputs, but the network "
            f"has {outputs[-1]}: make it with {self.remedy.format(outputs=needed)}",
        )
        require_finite(y)

    def predict(self, outputs: jax.Array) -> jax.Array:
        return jnp.concatenate(self.moments(outputs), axis=-1)

    def predictive(self, values: np.ndarray) -> GaussianPredictive:
        return GaussianPredictive(*np.split(values, 2, axis=-1))

    def running(self, shape: tuple[int, ...]) -> evaluate.RunningMixture:
        return evaluate.RunningMixture.init((*shape[:-1], shape[-1] // 2), None)
