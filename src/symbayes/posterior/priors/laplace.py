"""The Laplace prior: sharper at zero and longer in the tails than the normal one."""

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
class Laplace(Independent):
    """``p(w) = exp(-|w| / scale) / (2 scale)``; its standard deviation is ``sqrt(2) scale``."""

    scale: Scalar = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_kernel(self, w: jax.Array) -> jax.Array:
        # Unlike that of abs, the gradient of this is zero at zero, where fresh biases are.
        return -w * jnp.sign(w) / self.scale

    @property
    def log_norm(self) -> Scalar:
        return jnp.log(self.scale) + math.log(2)

    def difference(self, new: jax.Array, old: jax.Array) -> jax.Array:
        return (jnp.abs(old) - jnp.abs(new)) / self.scale

    def draw(self, key: jax.Array, count: int) -> jax.Array:
        return self.scale * jax.random.laplace(key, (count,))

    @property
    def standard_deviation(self) -> Scalar:
        return math.sqrt(2) * self.scale
