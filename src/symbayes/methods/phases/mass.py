"""The scale of every parameter, which is equivalent to a diagonal mass matrix.

Trajectories are those of the whitened parameters ``w / s``.  The scales ``s`` are the prior's standard
deviations, or standard deviations estimated from positions of all chains.  With ``n`` positions and their
variance ``v``, and the prior's deviation ``p``,

    s^2 = (n v + 5 * 0.001 p^2) / (n + 5)

Reference: Welford (1962), Note on a method for calculating corrected sums of squares and products; the weight
of the prior is that of Carpenter et al. (2017), Stan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes.posterior import Posterior
from symbayes.pytrees import pytree

REGULAR, FLOOR = 5.0, 1e-3
"""The number of positions that the prior counts as, and the share of its variance that is used."""


@pytree
@dataclass(frozen=True)
class Spread:
    """The mean of positions, and the sum of squares around it, for every parameter."""

    count: Any
    mean: Any
    squares: Any

    @classmethod
    def none(cls, params: Any) -> Spread:
        zero = jax.tree.map(jnp.zeros_like, params)
        return cls(jnp.float32(0), zero, zero)

    def add(self, positions: Any) -> Spread:
        """The same with the positions of all chains added; leaves have a leading axis over chains."""
        new = jax.tree.leaves(positions)[0].shape[0]
        count = self.count + new
        means = jax.tree.map(lambda x: jnp.mean(x, axis=0), positions)
        mean = jax.tree.map(lambda a, b: a + (b - a) * new / count, self.mean, means)
        squares = jax.tree.map(
            lambda s, a, b, x: s + jnp.sum((x - b) ** 2, axis=0) + (b - a) ** 2 * self.count * new / count,
            self.squares,
            self.mean,
            means,
            positions,
        )
        return Spread(count, mean, squares)

    def variances(self) -> Any:
        """The variance of every parameter."""
        return jax.tree.map(lambda s: s / jnp.maximum(self.count - 1, 1), self.squares)

    def scales(self, prior: Any) -> Any:
        """Standard deviations, shrunk towards a small share of the prior's."""
        n = self.count

        def scale(squares: jax.Array, prior: jax.Array) -> jax.Array:
            return jnp.sqrt((n * squares / (n - 1) + REGULAR * FLOOR * prior**2) / (n + REGULAR))

        return jax.tree.map(scale, self.squares, prior)


def prior_scales(posterior: Posterior, params: Any) -> Any:
    """The prior's standard deviations at the posterior's temperature, shaped like the parameters; ones where
    the prior has none."""
    found = posterior.prior.deviations(params)
    unit = jnp.sqrt(posterior.temperature) if posterior.tempers == "posterior" else 1.0
    if found is None:
        return jax.tree.map(jnp.ones_like, params)
    return jax.tree.map(lambda w, s: jnp.broadcast_to(unit * s, w.shape), params, found)
