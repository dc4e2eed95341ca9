"""Improved variational online Newton: a Gaussian with independent weights, for about the cost of Adam.

With ``q = N(m, diag(s^2))``, ``N`` examples, temperature ``T``, a normal prior ``N(0, a^2)``, and ``g`` the
gradient of the mean loss of a mini-batch (minus the log likelihood per example) at ``w = m + s e``,
``e ~ N(0, 1)``, step ``t`` is

    u <- b1 u + (1 - b1) g
    c = g e / s                                                   an estimate of the curvature
    h <- b2 h + (1 - b2) c + (1 - b2)^2 (h - c)^2 / (2 (h + d))
    m <- m - r (u / (1 - b1^t) + d m) / (h + d)
    s <- 1 / sqrt(l (h + d))

The last part of ``h`` keeps ``h + d`` positive.  The weight decay ``d`` and the sample size ``l`` follow from
the posterior:  ``l = N / T``, and ``d = 1 / (a^2 N)`` where the temperature tempers the whole posterior,
``T / (a^2 N)`` where it tempers the likelihood only.  Initially ``h = 1 / (l s^2)`` for a given ``s``: a
fixed initial curvature would mean too large a spread where there is little data.  The rate ``r`` is the
learning rate times the initial ``h + d``.  A unit is an epoch; its statistic is `loss`, the mean loss at
noisy weights.

Reference: Shen et al. (2024), Variational learning is effective for large deep networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.distributions import Gaussian
from symbayes.engine.phase import Left, Phase, Tick, phase, static
from symbayes.methods.phases.schedules import Rate
from symbayes.methods.phases.variational import WEIGHTS, diagonal_gaussian
from symbayes.posterior import Posterior
from symbayes.posterior.priors import normal_scales
from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Curved:
    """Means (and statistics of normalisers), running gradient u and curvature h, and the epoch's losses."""

    variables: Any
    momentum: Any
    curvature: Any
    loss: Any


@phase
class OnlineNewton(Phase):
    """Epochs of improved variational online Newton.

    Attributes:
        units: epochs.
        rate: learning rate of every step, at the initial curvature.
        scale: initial standard deviation, which determines the initial h.
        beta1: share of the running gradient that a step keeps.
        beta2: share of the curvature that a step keeps.
        batch: examples in a mini-batch.
    """

    shown: ClassVar[tuple[str, ...]] = ("loss",)

    units: Any
    rate: Rate
    scale: Any
    beta1: Any
    beta2: Any
    batch: int | None = static()

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Curved:
        params = left.variables["params"]
        zero = jax.tree.map(jnp.zeros_like, params)
        first = self._first(posterior)
        curvature = jax.tree.map(lambda w: jnp.full_like(w, first), params)
        return Curved(left.variables, zero, curvature, jnp.zeros(()))

    def step(self, posterior: Posterior, shared: None, flight: Curved, tick: Tick) -> Curved:
        means, decay = flight.variables["params"], weight_decay(posterior, flight.variables["params"])
        scales = self._scales(posterior, flight.curvature)
        noise = trees.random_normal(jax.random.fold_in(tick.key, WEIGHTS), means)
        drawn = jax.tree.map(lambda m, s, e: m + s * e, means, scales, noise)
        noisy = {**flight.variables, "params": drawn}
        slope, log_likelihood, stats = posterior.minibatch_gradient(noisy, tick.rows, tick.key, prior=False)
        unit = -posterior.temperature / posterior.size
        gradient = jax.tree.map(lambda g: unit * g, slope)
        momentum = jax.tree.map(lambda u, g: self.beta1 * u + (1 - self.beta1) * g, flight.momentum, gradient)
        curvature = jax.tree.map(self._curved, flight.curvature, gradient, noise, scales, decay)
        steps, first = self.steps(posterior, None), self._first(posterior)
        rate, debias = (
            self.rate.at(tick.unit, tick.step, steps),
            1 - self.beta1 ** (tick.unit * steps + tick.step + 1),
        )

        def moved(m: Any, u: Any, h: Any, d: Any) -> Any:
            return m - rate * (first + d) * (u / debias + d * m) / (h + d)

        means = jax.tree.map(moved, means, momentum, curvature, decay)
        variables = {"params": means, "stats": stats}
        return Curved(variables, momentum, curvature, flight.loss + unit * log_likelihood)

    def _first(self, posterior: Posterior) -> jax.Array:
        """The initial h."""
        return 1 / (sample_size(posterior) * self.scale**2)

    def _curved(self, h: Any, gradient: Any, noise: Any, scale: Any, decay: Any) -> Any:
        found, new = gradient * noise / scale, 1 - self.beta2
        return self.beta2 * h + new * found + (new * (h - found)) ** 2 / (2 * (h + decay))

    def _scales(self, posterior: Posterior, curvature: Any) -> Any:
        size, decay = sample_size(posterior), weight_decay(posterior, curvature)
        return jax.tree.map(lambda h, d: jax.lax.rsqrt(size * (h + d)), curvature, decay)

    def close(
        self, posterior: Posterior, shared: None, chain: Curved, flight: Curved, tick: Tick
    ) -> tuple[Curved, dict[str, jax.Array], None]:
        ended = Curved(flight.variables, flight.momentum, flight.curvature, jnp.zeros(()))
        return ended, {"loss": flight.loss / self.steps(posterior, None)}, None

    def fit(self, posterior: Posterior, shared: None, chain: Curved) -> Gaussian:
        scales = self._scales(posterior, chain.curvature)
        return diagonal_gaussian(chain.variables, jax.tree.map(jnp.square, scales))


def sample_size(posterior: Posterior) -> jax.Array:
    """l = N / T."""
    return posterior.size * posterior.likelihood_weight


def weight_decay(posterior: Posterior, params: Any) -> Any:
    """d for every parameter, from a normal prior."""
    scales = normal_scales(posterior.prior, params)
    factor = posterior.prior_weight / sample_size(posterior)
    return jax.tree.map(lambda alpha: factor / alpha**2, scales)
