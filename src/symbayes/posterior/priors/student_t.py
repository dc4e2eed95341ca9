"""Student's t prior: heavy tails."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

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
class StudentT(Independent):
    """``p(w) ~ (1 + w^2 / (df scale^2))^(-(df + 1) / 2)``, with `df` degrees of freedom.

    Its standard deviation is ``scale sqrt(df / (df - 2))``, and there is none for df <= 2.  Since this
    decides what a method computes, `df` is static: other degrees of freedom compile again.
    """

    scale: Scalar = 1.0
    df: int | float = field(default=4.0, metadata={"static": True})

    def __post_init__(self) -> None:
        require_positive(scale=self.scale, df=self.df)

    def log_kernel(self, w: jax.Array) -> jax.Array:
        return -0.5 * (self.df + 1) * jnp.log1p((w / self.scale) ** 2 / self.df)

    @property
    def log_norm(self) -> Scalar:
        gammas = math.lgamma(self.df / 2) - math.lgamma((self.df + 1) / 2)
        return jnp.log(self.scale) + gammas + 0.5 * math.log(math.pi * self.df)

    def difference(self, new: jax.Array, old: jax.Array) -> jax.Array:
        """``(df + 1) / 2 log(1 + (old^2 - new^2) / (df scale^2 + new^2))``, and the negative with the two
        exchanged where the new is the larger."""
        drop = (old - new) * (old + new)
        near = jnp.minimum(jnp.abs(old), jnp.abs(new))
        grown = jnp.log1p(jnp.abs(drop) / (self.df * self.scale**2 + near**2))
        return 0.5 * (self.df + 1) * jnp.sign(drop) * grown

    def draw(self, key: jax.Array, count: int) -> jax.Array:
        return self.scale * jax.random.t(key, self.df, (count,))

    @property
    def standard_deviation(self) -> Scalar | None:
        return self.scale * math.sqrt(self.df / (self.df - 2)) if self.df > 2 else None
