"""A scale mixture of normals: most weights near zero, some far from it.

Reference: Blundell et al. (2015), Weight uncertainty in neural networks.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from symbayes.brief import briefly
from symbayes.posterior.priors.prior import Independent
from symbayes.pytrees import pytree
from symbayes.specs import require, require_positive
from symbayes.trees import Scalar


@briefly
@pytree
@dataclass(frozen=True)
class GaussianMixture(Independent):
    """``p(w) = sum_k weights_k N(w; 0, scales_k^2)`` on every weight and bias.

    With S the largest scale it is computed as ``N(w; 0, S^2) sum_k exp(offset_k - rate_k w^2)``, where
    ``offset_k = log(weights_k S / scales_k)`` and ``rate_k = (1 / scales_k^2 - 1 / S^2) / 2``: the sum
    stays between known bounds for any w.
    """

    scales: tuple[Scalar, ...] = (1.0, math.exp(-6))
    weights: tuple[Scalar, ...] = (0.5, 0.5)

    def __post_init__(self) -> None:
        scales, weights = tuple(self.scales), tuple(self.weights)
        object.__setattr__(self, "scales", scales)
        object.__setattr__(self, "weights", weights)
        require(
            0 < len(scales) == len(weights),
            f"a mixture has one weight for every scale, not {len(weights)} for {len(scales)}",
        )
        for scale, weight in zip(scales, weights, strict=True):
            require_positive(scale=scale, weight=weight)
        if all(isinstance(weight, int | float) for weight in weights):
            require(math.isclose(sum(weights), 1, rel_tol=1e-6), f"weights sum to one, not to {sum(weights)}")

    @property
    def _widest(self) -> jax.Array:
        return functools.reduce(jnp.maximum, self.scales, jnp.zeros(()))

    def _exponents(self) -> list[tuple[jax.Array, jax.Array]]:
        """Offset and rate of every component."""
        return [
            (jnp.log(weight) + jnp.log(self._widest / scale), (1 / scale**2 - 1 / self._widest**2) / 2)
            for scale, weight in zip(self.scales, self.weights, strict=True)
        ]

    def _log_sum(self, squared: jax.Array) -> jax.Array:
        return functools.reduce(
            jnp.logaddexp, [offset - rate * squared for offset, rate in self._exponents()]
        )

    def log_kernel(self, w: jax.Array) -> jax.Array:
        return -0.5 * (w / self._widest) ** 2 + self._log_sum(w**2)

    @property
    def log_norm(self) -> Scalar:
        return jnp.log(self._widest) + 0.5 * math.log(2 * math.pi)

    def difference(self, new: jax.Array, old: jax.Array) -> jax.Array:
        """The widest component's difference, and ``log(1 + sum_k share_k (exp(rate_k drop) - 1))``.

        `drop` is old^2 - new^2, and share_k the part that component k has of the sum at the old value.
        With drop > 0 no term is negative, so nothing cancels; else the two change places.
        """
        drop = (old - new) * (old + new)
        rise = jnp.abs(drop)
        near, far = (pick(jnp.abs(old), jnp.abs(new)) ** 2 for pick in (jnp.minimum, jnp.maximum))
        at_far = self._log_sum(far)
        grown = jnp.zeros_like(rise)
        for offset, rate in self._exponents():
            share = jnp.exp(offset - rate * far - at_far)
            close = share * jnp.expm1(jnp.minimum(rate * rise, 1.0))
            apart = jnp.exp(offset - rate * near - at_far) - share
            grown += jnp.where(rate * rise < 1, close, apart)
        return jnp.sign(drop) * (rise / (2 * self._widest**2) + jnp.log1p(grown))

    def draw(self, key: jax.Array, count: int) -> jax.Array:
        which, value = jax.random.split(key)
        scales, weights = (jnp.stack([jnp.float32(v) for v in part]) for part in (self.scales, self.weights))
        return jax.random.choice(which, scales, (count,), p=weights) * jax.random.normal(value, (count,))

    @property
    def standard_deviation(self) -> Scalar:
        variance = sum(weight * scale**2 for scale, weight in zip(self.scales, self.weights, strict=True))
        return variance**0.5
