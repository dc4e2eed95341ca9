"""The normal law of real targets, and the mixture of normals that many draws predict."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import evaluate
from symbayes.specs import require


def log_normal(y: jax.Array, means: jax.Array, scale: Any) -> jax.Array:
    """``log N(y; means, scale^2)``, summed over the last axis."""
    log_norm = jnp.log(scale) + 0.5 * math.log(2 * math.pi)
    return jnp.sum(-0.5 * ((y - means) / scale) ** 2 - log_norm, axis=-1)


def require_finite(y: np.ndarray) -> None:
    bad = ~np.isfinite(y).all(axis=1)
    require(
        not bad.any(),
        f"targets hold NaN or infinity in {bad.sum()} of {len(y)} examples, "
        f"first in number {int(bad.argmax())}: remove or repair them",
    )


@dataclass(frozen=True, eq=False)
class GaussianPredictive:
    """An equal mixture of normals, one of every draw.

    Attributes:
        means: of every draw, shape (chain, draw, example, output).
        noise: standard deviation of the targets around them: one number, or shaped like the means.
    """

    means: np.ndarray
    noise: float | np.ndarray

    @functools.cached_property
    def mean(self) -> np.ndarray:
        """The mean of the mixture: (example, output)."""
        return self.means.mean(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def aleatoric(self) -> np.ndarray:
        """The part of `std` that is noise, ``sqrt(mean of noise^2 over draws)``: (example, output)."""
        squares = np.square(self.noise, dtype=np.float64)
        return np.sqrt(np.broadcast_to(squares, self.means.shape).mean(axis=(0, 1)))

    @functools.cached_property
    def epistemic(self) -> np.ndarray:
        """The part of `std` that is disagreement, the draws' means' deviation: (example, output)."""
        return self.means.std(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def std(self) -> np.ndarray:
        """The standard deviation of the mixture, ``sqrt(aleatoric^2 + epistemic^2)``: (example, output)."""
        return np.hypot(self.aleatoric, self.epistemic)

    def log_density(self, y: Any) -> np.ndarray:
        """The log predictive density of targets (example, output), ``log mean_s p(y | draw s)``:
        (example,), in nats."""
        return evaluate.mixture_log_density(*self.components, y)

    @property
    def components(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and scales of all draws as one axis, each (s, example, output)."""
        shape = (-1, *self.means.shape[2:])
        return self.means.reshape(shape), np.broadcast_to(self.noise, self.means.shape).reshape(shape)

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
