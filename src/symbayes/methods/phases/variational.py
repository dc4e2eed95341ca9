"""The Gaussian with independent weights that is closest to the posterior, by mini-batches.

Of all ``q = N(m, diag(s^2))`` over the weights, the phase looks for the one with the greatest bound

    ELBO = 1/T E_q[ log p(D | w) ] - KL,      KL = - t E_q[ log p(w) ] - H(q)

on the log of the integral of the (tempered) density.  At ``T = 1`` that integral is the evidence, and KL the
divergence of ``q`` from the prior.  ``H`` is the entropy, and ``t`` is ``1/T`` where the temperature tempers
the prior too, else 1.  Each step follows the gradient, in ``m`` and ``log s``, of an estimate per example
from a mini-batch of ``B`` out of ``N``,

    - 1/B sum_{i in batch} log p(y_i | m + s e) + c T/N KL,      e ~ N(0, 1) for every weight

with ``c`` rising from 0 to 1 in the first part of the epochs (warm-up).  KL is summed over all weights, in
closed form for normal priors, else at a draw of ``q``.  A unit is an epoch.  Its statistics are means over
its mini-batches: `loss` (minus the log likelihood per example), `kl`, and `elbo`, which is
``- N/T loss - KL``.

How the noise ``e`` is drawn (`posterior/numerics/noise.py` has the equations) changes the variance of the
gradient, not its mean: *local* draws the sums of dense layers for each example, and random signs (flipout)
where an example uses a weight at many positions; *flipout* draws signs everywhere; *shared* is one draw for
all examples.

References: Graves (2011), Practical variational inference for neural networks; Blundell et al. (2015), Weight
uncertainty in neural networks; Kingma, Salimans & Welling (2015), Variational dropout and the local
reparameterization trick; Wen et al. (2018), Flipout: efficient pseudo-independent weight perturbations on
mini-batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.distributions import Gaussian
from symbayes.engine.phase import Left, Phase, Tick, phase, static
from symbayes.methods.phases.sample import Fitted, Sample
from symbayes.methods.phases.train import Train
from symbayes.networks import Network
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.noise import Estimator, Use, noisy, uses_of
from symbayes.posterior.priors import normal_scales
from symbayes.pytrees import pytree

WEIGHTS, PRIOR = 1, 2
"""Streams of noise, different from that of the network."""


@pytree
@dataclass(frozen=True)
class Approximating:
    """Means (and statistics of normalisers), log scales, the state of the optimiser, and sums over the
    epoch."""

    variables: Any
    log_scales: Any
    memory: Any
    loss: Any
    kl: Any


@phase
class Variational(Phase):
    """Epochs of variational inference, by the optimisers of training; adamw does not rescale the kl.

    Attributes:
        by: training whose epochs, mini-batches, learning rate and optimiser are used.
        scale: initial standard deviation of every weight.
        rising: share of the epochs until the kl has its full weight.
        estimator: how the noise of weights is drawn.
    """

    shown: ClassVar[tuple[str, ...]] = ("elbo", "loss")

    by: Train
    scale: Any
    rising: Any
    estimator: Estimator = static()

    @property
    def units(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.by.units

    @property
    def batch(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.by.batch

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Approximating:
        params = left.variables["params"]
        log_scales = jax.tree.map(lambda w: jnp.full_like(w, jnp.log(self.scale)), params)
        memory = self.by.optimiser().init((params, log_scales))
        return Approximating(left.variables, log_scales, memory, jnp.zeros(()), jnp.zeros(()))

    def step(self, posterior: Posterior, shared: None, flight: Approximating, tick: Tick) -> Approximating:
        moving = flight.variables["params"], flight.log_scales
        fixed = {name: part for name, part in flight.variables.items() if name != "params"}
        by_data, log_likelihood, stats = posterior.likelihood_gradient(
            _Noisy(posterior.network, self.estimator), moving, fixed, tick.rows, tick.key
        )
        kl, by_kl = jax.value_and_grad(lambda q: divergence(posterior, q[0], q[1], tick.key))(moving)
        unit = posterior.temperature / posterior.size
        gradient, decay = self.by.taken(
            jax.tree.map(lambda slope: -unit * slope, by_data),
            jax.tree.map(lambda slope: self._risen(posterior, tick) * unit * slope, by_kl),
        )
        (params, log_scales), memory = self.by.moved(posterior, moving, gradient, decay, flight.memory, tick)
        loss = flight.loss - unit * log_likelihood
        return Approximating({"params": params, "stats": stats}, log_scales, memory, loss, flight.kl + kl)

    def _risen(self, posterior: Posterior, tick: Tick) -> jax.Array:
        """The weight of the kl, in the middle of a step."""
        steps = self.steps(posterior, None)
        done = (tick.unit * steps + tick.step + 0.5) / (self.units * steps)
        return jnp.where(done < self.rising, done / jnp.maximum(self.rising, done), 1.0)

    def close(
        self, posterior: Posterior, shared: None, chain: Approximating, flight: Approximating, tick: Tick
    ) -> tuple[Approximating, dict[str, jax.Array], None]:
        steps, zero = self.steps(posterior, None), jnp.zeros(())
        loss, kl = flight.loss / steps, flight.kl / steps
        elbo = -posterior.likelihood_weight * posterior.size * loss - kl
        ended = Approximating(flight.variables, flight.log_scales, flight.memory, zero, zero)
        return ended, {"elbo": elbo, "loss": loss, "kl": kl}, None

    def fit(self, posterior: Posterior, shared: None, chain: Approximating) -> Gaussian:
        return diagonal_gaussian(chain.variables, jax.tree.map(lambda s: jnp.exp(2 * s), chain.log_scales))


@dataclass(frozen=True)
class _Noisy:
    """The network in training, whose weights have noise: a function of means and log scales."""

    network: Network
    estimator: Estimator

    def __call__(self, arguments: Any, x: jax.Array, key: jax.Array) -> Any:
        (means, log_scales), fixed = arguments
        scales = jax.tree.map(jnp.exp, log_scales)
        outputs = _training(self.network, fixed, key)
        return noisy(outputs, means, scales, x, jax.random.fold_in(key, WEIGHTS), self.estimator)


def _training(network: Network, fixed: Any, key: jax.Array) -> Callable[..., Any]:
    return lambda params, x: network.apply_train({**fixed, "params": params}, x, key)


def sampled_once(posterior: Posterior, batch: int, estimator: Estimator) -> list[str]:
    """Names of the parameters whose noise all examples of a mini-batch share."""

    def uses(variables: Any, x: jax.Array, key: jax.Array) -> None:
        fixed = {name: part for name, part in variables.items() if name != "params"}
        found.update(uses_of(_training(posterior.network, fixed, key), variables["params"], x, estimator))

    found: dict[str, Use] = {}
    form = posterior.chunks.x
    x = jax.ShapeDtypeStruct((batch, *form.shape[2:]), form.dtype)
    jax.eval_shape(uses, jax.eval_shape(posterior.init, jax.random.key(0)), x, jax.random.key(0))
    return [name for name, use in found.items() if use.kind == "once"]


def divergence(posterior: Posterior, means: Any, log_scales: Any, key: jax.Array) -> jax.Array:
    """``- t E_q[ log p(w) ] - H(q)``: for normal priors in closed form, else an estimate without bias."""
    scales = jax.tree.map(jnp.exp, log_scales)
    prior = normal_scales(posterior.prior, means)
    if prior is None:
        noise = trees.random_normal(jax.random.fold_in(key, PRIOR), means)
        drawn = jax.tree.map(lambda m, s, e: m + s * e, means, scales, noise)
        expected = posterior.prior.log_density(drawn)
    else:
        spread = jax.tree.map(lambda s, alpha: jnp.sum((s / alpha) ** 2) / 2, scales, prior)
        expected = posterior.prior.log_density(means) - _total(spread)
    entropy = _total(jax.tree.map(jnp.sum, log_scales)) + trees.size(means) * (math.log(2 * math.pi) + 1) / 2
    return -posterior.prior_weight * expected - entropy


def _total(sums: Any) -> jax.Array:
    return jax.tree.reduce(jnp.add, sums)


def diagonal_gaussian(variables: Any, variances: Any) -> Gaussian:
    """N(m, diag(variances)) over the parameters, with the other variables as they are."""
    factors = jax.tree.map(lambda v: jnp.zeros((0, *v.shape), v.dtype), variances)
    return Gaussian(variables, {"params": variances}, {"params": factors})


@phase
class SampleWithBound(Sample):
    """Draws from q, each with an estimate of the `elbo`: its own log likelihood, and the kl of q."""

    def draw(
        self, posterior: Posterior, shared: None, chain: Fitted, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        variables, statistics = super().draw(posterior, shared, chain, tick)
        log_scales = jax.tree.map(lambda v: jnp.log(v) / 2, chain.distribution.diagonal["params"])
        kl = divergence(posterior, chain.distribution.location["params"], log_scales, tick.key)
        elbo = posterior.likelihood_weight * statistics["log_likelihood"] - kl
        return variables, {**statistics, "elbo": elbo}
