"""The mixture of normals that many draws predict of real targets, and the density of one of them."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from symbayes import evaluate
from symbayes.brief import briefly
from symbayes.data import Scaling
from symbayes.evaluate.metric import Kind
from symbayes.posterior.likelihoods.predictive import Predictive, as_key
from symbayes.trees import Scalar


def log_normal(y: jax.Array, means: jax.Array, scale: Scalar) -> jax.Array:
    """``log N(y; means, scale^2)``, summed over the last axis."""
    log_norm = jnp.log(scale) + 0.5 * math.log(2 * math.pi)
    return jnp.sum(-0.5 * ((y - means) / scale) ** 2 - log_norm, axis=-1)


@briefly
@dataclass(frozen=True, eq=False)
class GaussianPredictive(Predictive):
    """An equal mixture of normals, one of every draw.

    Attributes:
        means: of every draw, shape (chain, draw, example, ..., output).
        noise: standard deviation of the targets around them: one number, or shaped like the means.
    """

    kind: ClassVar[Kind] = "reals"

    means: np.ndarray
    noise: float | np.ndarray

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {"means": self.means, "noise": np.broadcast_to(self.noise, self.means.shape)}

    @property
    def every(self) -> np.ndarray:
        return self.means

    @functools.cached_property
    def mean(self) -> np.ndarray:
        """The mean of the mixture: (example, ..., output)."""
        return self.means.mean(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def aleatoric(self) -> np.ndarray:
        """The part of `std` that is noise, ``sqrt(mean of noise^2 over draws)``: (example, ..., output)."""
        squares = np.square(self.noise, dtype=np.float64)
        return np.sqrt(np.broadcast_to(squares, self.means.shape).mean(axis=(0, 1)))

    @functools.cached_property
    def epistemic(self) -> np.ndarray:
        """The part of `std` that is disagreement, the draws' means' deviation: (example, ..., output)."""
        return self.means.std(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def std(self) -> np.ndarray:
        """That of the mixture, ``sqrt(aleatoric^2 + epistemic^2)``: (example, ..., output)."""
        return np.hypot(self.aleatoric, self.epistemic)

    @property
    def uncertainty(self) -> np.ndarray:
        """The root mean square of `std` over outputs and positions: (example,)."""
        return np.sqrt(np.square(self.std).reshape(len(self.std), -1).mean(axis=1))

    @property
    def doubt(self) -> np.ndarray:
        return self.uncertainty

    @property
    def figures(self) -> tuple[str, ...]:
        shared = ("predicted", "intervals", "coverages", "pit")
        return (*shared, "pictures") if len(self.positions) == 2 else shared

    @property
    def component_means(self) -> np.ndarray:
        """Means of all draws as one axis: (s, example, ..., output)."""
        return self.each

    @property
    def component_scales(self) -> np.ndarray:
        """Standard deviations of all draws as one axis: (s, example, ..., output)."""
        return np.broadcast_to(self.noise, self.means.shape).reshape(self.each.shape)

    def log_density(self, y: ArrayLike) -> np.ndarray:
        """The log predictive density of targets (example, ..., output), ``log mean_s p(y | draw s)``:
        (example, ...), in nats."""
        return evaluate.mixture_log_density(self.component_means, self.component_scales, y)

    def losses(self, y: ArrayLike) -> np.ndarray:
        each = -self.log_density(y)
        return each.reshape(len(each), -1).mean(axis=1)

    def quantile(self, q: float) -> np.ndarray:
        """Below it each output has probability `q`: (example, ..., output)."""
        return evaluate.mixture_quantile(self.component_means, self.component_scales, q)

    def described(self, level: float = 0.9) -> dict[str, np.ndarray]:
        """Mean, standard deviation and both ends of the interval, each (example, ..., output)."""
        lower, upper = self.interval(level)
        return {"mean": self.mean, "sd": self.std, "lower": lower, "upper": upper}

    def sample(self, key: jax.Array | int, n: int) -> np.ndarray:
        """Targets (n, example, ..., output)."""
        pick, noise = jax.random.split(as_key(key))
        chosen = np.asarray(jax.random.randint(pick, (n,), 0, self.count))
        means = self.component_means[chosen]
        return means + self.component_scales[chosen] * np.asarray(jax.random.normal(noise, means.shape))

    def sample_each(self, key: jax.Array | int) -> np.ndarray:
        """Targets (chain, draw, example, ..., output)."""
        return self.means + self.noise * np.asarray(jax.random.normal(as_key(key), self.means.shape))

    def unscaled(self, scaling: Scaling) -> GaussianPredictive:
        return GaussianPredictive(scaling.undo(self.means), self.noise * scaling.scale)

    @property
    def entropy(self) -> np.ndarray:
        raise AttributeError(
            "the entropy of a mixture of normals has no closed form: use std, or log_density of targets"
        )

    @property
    def mutual_information(self) -> np.ndarray:
        raise AttributeError(
            "mutual_information is for classes: in regression, epistemic says how far the draws disagree"
        )
