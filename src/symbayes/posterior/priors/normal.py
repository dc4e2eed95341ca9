"""The normal prior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from symbayes.brief import briefly
from symbayes.posterior.priors.prior import Independent
from symbayes.pytrees import pytree
from symbayes.specs import require_positive
from symbayes.trees import Scalar


@briefly
@pytree
@dataclass(frozen=True)
class Normal(Independent):
    """``N(0, scale^2)`` on every weight and bias."""

    scale: Scalar = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_kernel(self, w: jax.Array) -> jax.Array:
        return -0.5 * (w / self.scale) ** 2

    @property
    def log_norm(self) -> Scalar:
        return jnp.log(self.scale) + 0.5 * math.log(2 * math.pi)

    def difference(self, new: jax.Array, old: jax.Array) -> jax.Array:
        return (old - new) * (old + new) / (2 * self.scale**2)

    def draw(self, key: jax.Array, count: int) -> jax.Array:
        return self.scale * jax.random.normal(key, (count,))

    @property
    def standard_deviation(self) -> Scalar:
        return self.scale
