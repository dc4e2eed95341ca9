"""A step size that all chains share: found by trial where none is given, then adapted to an acceptance.

The first step size is found from one leapfrog step of every chain: it is doubled (or halved) until their mean
acceptance falls below (rises above) one half.  Dual averaging goes on from there (`adaptation.py`).

Reference: Hoffman & Gelman (2014), The No-U-Turn sampler, section 3.2.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from symbayes.engine.phase import Left, Phase, Tick
from symbayes.methods.phases.adaptation import Tuning
from symbayes.methods.phases.resting import (
    Resting,
    fresh_momentum,
    leap,
    log_acceptance,
    per_parameter,
    rest,
)
from symbayes.posterior import Posterior

GUESS = 1e-2
"""Where the trials begin, in units of the prior's standard deviation."""

HALF = 0.5
"""The acceptance of one step that the trials look for."""

TRIALS = 60
"""More doublings than float32 has room for between any two useful step sizes."""


class Stepping(Phase):
    """A phase whose chains share a step size; one that has the fields below."""

    step_size: Any
    """Where adaptation begins; None where it is looked for."""
    target_accept: Any
    adapting: Any

    @property
    def longest_step(self) -> Any:
        """A bound for the step size."""
        return jnp.inf

    def begin(self, posterior: Posterior, left: Left, tick: Tick) -> Tuning:
        if isinstance(left.shared, Tuning):
            return left.shared.settled(self.longest_step)
        return Tuning.start(self.first_step(posterior, left, tick))

    def first_step(self, posterior: Posterior, left: Left, tick: Tick) -> jax.Array:
        """The step size given, else the one that the run found from whose draws this one starts, else one
        found by trial."""
        if self.step_size is not None:
            return self.step_size
        if left.found is not None and "step_size" in left.found:
            return jnp.asarray(left.found["step_size"])
        return jnp.minimum(tried_step(posterior, left.variables, tick.key), self.longest_step)

    def enter(self, posterior: Posterior, shared: Tuning, left: Left, tick: Tick) -> Any:
        return left.chain if isinstance(left.chain, Resting) else rest(posterior, left.variables)

    def learn(self, shared: Tuning, evidence: jax.Array, tick: Tick) -> Tuning:
        learned = shared.learned(jnp.mean(evidence), self.target_accept)
        learned = dataclasses.replace(learned, step_size=jnp.minimum(learned.step_size, self.longest_step))
        return jax.tree.map(lambda new, old: jnp.where(self.adapting, new, old), learned, shared)


def tried_step(posterior: Posterior, variables: Any, key: jax.Array, scales: Any = None) -> jax.Array:
    """The step size at which one leapfrog step of every chain is accepted about half of the time.

    `variables` have a leading axis over chains.
    """
    here = jax.vmap(lambda each: rest(posterior, each))(variables)
    keys = jax.random.split(key, jax.tree.leaves(variables)[0].shape[0])

    def acceptance(step_size: jax.Array) -> jax.Array:
        def one(here: Resting, key: jax.Array) -> jax.Array:
            params = here.variables["params"]
            momentum = fresh_momentum(key, params)
            step = per_parameter(posterior, step_size, params, scales)
            there, last = leap(posterior, here, step, momentum)
            return jnp.minimum(1.0, jnp.exp(log_acceptance(posterior, here, there, momentum, last)))

        return jnp.mean(jax.vmap(one)(here, keys))

    def trial(carry: Any) -> Any:
        step_size, grows, number, _ = carry
        good = acceptance(step_size) > HALF
        grows = jnp.where(number == 0, good, grows)
        crossed = good != grows
        following = jnp.where(crossed, step_size, step_size * jnp.where(grows, 2.0, 0.5))
        return following, grows, number + 1, crossed

    def searching(carry: Any) -> jax.Array:
        return ~carry[3] & (carry[2] < TRIALS)

    deviation = posterior.prior.standard_deviation if scales is None else None
    first = jnp.float32(GUESS * (1.0 if deviation is None else deviation))
    return jax.lax.while_loop(searching, trial, (first, jnp.array(True), 0, jnp.array(False)))[0]
