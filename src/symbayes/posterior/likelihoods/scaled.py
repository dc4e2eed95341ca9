"""Normal laws whose outputs are means and then as many raw scales."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import evaluate
from symbayes.brief import briefly
from symbayes.posterior.likelihoods.likelihood import over_positions, require_finite, shape_words
from symbayes.posterior.likelihoods.normal import GaussianPredictive, log_normal
from symbayes.pytrees import pytree
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

    def curvature_root(self, outputs: jax.Array) -> jax.Array:
        """Of the expected second derivative (the Fisher information), which is diagonal: ``1/s`` for a mean
        and ``sqrt(2) s'(r) / s`` for a raw scale r."""
        half = outputs.shape[-1] // 2
        raw = jnp.concatenate([jnp.zeros(half), jnp.ones(half)]) * jnp.ones_like(outputs)
        (_, scales), (_, slopes) = jax.jvp(self.moments, (outputs,), (raw,))
        diagonal = jnp.concatenate([1 / scales, math.sqrt(2) * slopes / scales], axis=-1)
        return jnp.eye(outputs.shape[-1]) * diagonal[..., None]

    def marginal(self, mean: jax.Array, variance: jax.Array) -> jax.Array:
        """Means, and the noise with the variances of the means; how unsure the noise is, is left out."""
        means, scales = self.moments(mean)
        return jnp.concatenate(
            [means, jnp.hypot(scales, jnp.sqrt(variance[..., : means.shape[-1]]))], axis=-1
        )

    @property
    def marginals(self) -> Marginals:
        return Marginals(self)


@briefly
@pytree
@dataclass(frozen=True)
class Marginals(MeansAndScales):
    """Normal targets whose means and whole standard deviations the outputs are, of another likelihood once
    the doubt about its outputs is taken in."""

    each: ClassVar[str] = "a mean and a standard deviation"
    remedy: ClassVar[str] = "outputs={outputs}"

    base: Any

    def moments(self, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Means and standard deviations, each (..., k)."""
        means, scales = jnp.split(outputs, 2, axis=-1)
        return means, scales

    def predict(self, outputs: jax.Array) -> jax.Array:
        return outputs

    def marginal(self, mean: jax.Array, variance: jax.Array) -> jax.Array:
        return self.base.marginal(mean, variance)

    @property
    def marginals(self) -> Marginals:
        return self
