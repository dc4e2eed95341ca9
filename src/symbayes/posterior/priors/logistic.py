"""The logistic prior: like the normal one at zero, like Laplace's in the tails."""

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
class Logistic(Independent):
    """``p(w) = 1 / (4 scale cosh(w / 2 scale)^2)``; its standard deviation is ``pi / sqrt(3) scale``."""

    scale: Scalar = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_kernel(self, w: jax.Array) -> jax.Array:
        z = jnp.abs(w) / self.scale
        return -z - 2 * jnp.log1p(jnp.exp(-z))

    @property
    def log_norm(self) -> Scalar:
        return jnp.log(self.scale)

    def difference(self, new: jax.Array, old: jax.Array) -> jax.Array:
        """``2 log(cosh v / cosh u)`` with v = old / 2 scale and u = new / 2 scale.

        For v > u >= 0, ``cosh v / cosh u = 1 + share (exp(v - u) - 1)`` where
        ``share = (1 - exp(-u - v)) / (1 + exp(-2 u))``: small where the two are close, so nothing
        cancels; where they are far apart, ``exp(v - u)`` is taken out.
        """
        new, old = jnp.abs(new), jnp.abs(old)
        near = jnp.minimum(new, old)
        apart = jnp.abs(old - new) / (2 * self.scale)
        at_near = jnp.exp(-near / self.scale)
        share = -jnp.expm1(-(old + new) / (2 * self.scale)) / (1 + at_near)
        close = jnp.log1p(share * jnp.expm1(jnp.minimum(apart, 1.0)))
        far = apart + jnp.log1p((1 - share) * jnp.expm1(-apart))
        return 2 * jnp.sign(old - new) * jnp.where(apart < 1, close, far)

    def draw(self, key: jax.Array, count: int) -> jax.Array:
        return self.scale * jax.random.logistic(key, (count,))

    @property
    def standard_deviation(self) -> Scalar:
        return math.pi / math.sqrt(3) * self.scale
