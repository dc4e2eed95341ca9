"""A step size that all chains share: found by trial where none is given, then adapted to a target acceptance.

The first step size is found from one leapfrog step of every chain, with the energy error ``D``: it is doubled
(or halved) until the mean of ``exp(-|D|)`` falls below (rises above) one half.  A decrease of the energy
counts as much as an increase, since chains that begin far from the posterior accept any step downhill.  Dual
averaging continues from there (`adaptation.py` has the equations).

Reference: Hoffman & Gelman (2014), The No-U-Turn sampler, section 3.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine.phase import Left, Phase, Tick
from symbayes.methods.phases.adaptation import Tuning
from symbayes.methods.phases.mass import Spread, prior_scales
from symbayes.methods.phases.resting import (
    Resting,
    fresh_momentum,
    leap,
    log_acceptance,
    per_parameter,
    rest,
)
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree

GUESS = 1e-2
"""Where the trials begin, in units of the prior's standard deviation."""

HALF = 0.5
"""The target of the trials: the mean of exp(-|energy error|) of one step."""

LEAST = 20
"""The least number of units of burn-in from which a mass can be estimated."""

SETTLING, COLLECTING = 0.3, 0.4
"""Shares of burn-in before the spread of the chains is collected, and while it is."""

TRIALS = 60
"""The most doublings: more than there are in float32 between any two useful step sizes."""


@pytree
@dataclass(frozen=True)
class Evidence:
    """The results of a unit for adaptation: its acceptance, its end if the spread of the chains is collected,
    and its trajectory if the length of trajectories is tuned."""

    acceptance: Any
    positions: Any = None
    flown: Any = None


class Stepping(Phase):
    """A phase whose chains share a step size, and estimated scales of the parameters if there are any."""

    step_size: Any
    """The initial step size; None for one that is found by trial."""
    target_accept: Any
    adapting: Any
    collects: Any = None
    """Whether the spread of the chains is collected; None where scales are the prior's."""
    whitens: Any = None
    """Whether the phase begins with scales from the spread collected before."""

    @property
    def joint(self) -> bool:
        return bool(self.step_size is None or self.adapting or self.collects or self.whitens)

    @property
    def longest_step(self) -> Any:
        """An upper bound for the step size."""
        return jnp.inf

    def begin(self, posterior: Posterior, left: Left, tick: Tick) -> Tuning:
        if isinstance(left.shared, Tuning):
            settled = left.shared.settled(self.longest_step)
            return settled if self.collects is None else self._whitened(posterior, settled, left, tick)
        if self.collects is None:
            return Tuning.start(self._first_step(posterior, left, tick, None))
        params = jax.tree.map(lambda leaf: leaf[0], left.variables["params"])
        scales = _found_scales(left, params) or prior_scales(posterior, params)
        first = Tuning.start(self._first_step(posterior, left, tick, scales))
        return dataclasses.replace(first, scales=scales, spread=Spread.none(params))

    def _first_step(self, posterior: Posterior, left: Left, tick: Tick, scales: Any) -> jax.Array:
        """The given step size, else that of the run from whose draws this one starts, else one found by
        trial."""
        if self.step_size is not None:
            return self.step_size
        if left.found is not None and "step_size" in left.found:
            return jnp.asarray(left.found["step_size"])
        return jnp.minimum(tried_step(posterior, left.variables, tick.key, scales), self.longest_step)

    def _whitened(self, posterior: Posterior, shared: Tuning, left: Left, tick: Tick) -> Tuning:
        """The same with scales from the spread that was collected, if the phase begins with these; then the
        step size is searched again."""

        def anew() -> Tuning:
            params = jax.tree.map(lambda leaf: leaf[0], left.variables["params"])
            scales = shared.spread.scales(prior_scales(posterior, params))
            step = tried_step(posterior, left.variables, tick.key, scales)
            first = Tuning.start(jnp.minimum(step, self.longest_step))
            return dataclasses.replace(
                first, scales=scales, spread=shared.spread, length=shared.length, share=shared.share
            )

        return jax.lax.cond(self.whitens, anew, lambda: shared)

    def enter(self, posterior: Posterior, shared: Tuning, left: Left, tick: Tick) -> Any:
        return left.chain if isinstance(left.chain, Resting) else rest(posterior, left.variables)

    def learn(self, shared: Tuning, evidence: Evidence, tick: Tick) -> Tuning:
        learned = shared.learned(jnp.mean(evidence.acceptance), self.target_accept)
        learned = dataclasses.replace(learned, step_size=jnp.minimum(learned.step_size, self.longest_step))
        learned = jax.tree.map(lambda new, old: jnp.where(self.adapting, new, old), learned, shared)
        if self.collects is None:
            return learned
        spread = jax.tree.map(
            lambda new, old: jnp.where(self.collects, new, old),
            shared.spread.add(evidence.positions),
            shared.spread,
        )
        return dataclasses.replace(learned, spread=spread)


def _found_scales(left: Left, params: Any) -> Any:
    """The scales of the run from whose draws this one starts, if it estimated any."""
    names = [f"scales/{name}" for name in trees.names(params)]
    if left.found is None or names[0] not in left.found:
        return None
    return trees.like(params, {name.removeprefix("scales/"): jnp.asarray(left.found[name]) for name in names})


def estimated_mass(burn_in: Callable[..., Any], units: int) -> tuple[Any, Any, Any]:
    """Burn-in in three phases: chains settle, their spread is collected, and the step size is adapted to the
    scales estimated from it."""
    settling, collecting = int(SETTLING * units), int(COLLECTING * units)
    return (
        burn_in(units=settling, collects=False, whitens=False),
        burn_in(units=collecting, collects=True, whitens=False),
        burn_in(units=units - settling - collecting, collects=False, whitens=True),
    )


def tried_step(posterior: Posterior, variables: Any, key: jax.Array, scales: Any = None) -> jax.Array:
    """The step size at which the mean of ``exp(-|D|)`` over one leapfrog step of every chain is about a half.

    `variables` have a leading axis over chains.
    """
    here = jax.vmap(lambda each: rest(posterior, each))(variables)
    keys = jax.random.split(key, jax.tree.leaves(variables)[0].shape[0])

    def soundness(step_size: jax.Array) -> jax.Array:
        def one(here: Resting, key: jax.Array) -> jax.Array:
            params = here.variables["params"]
            momentum = fresh_momentum(key, params)
            step = per_parameter(posterior, step_size, params, scales)
            there, last = leap(posterior, here, step, momentum)
            return jnp.exp(-jnp.abs(log_acceptance(posterior, here, there, momentum, last)))

        return jnp.mean(jax.vmap(one)(here, keys))

    def trial(carry: Any) -> Any:
        step_size, grows, number, _ = carry
        good = soundness(step_size) > HALF
        grows = jnp.where(number == 0, good, grows)
        crossed = good != grows
        # The largest step size that passes: one that was doubled once too often is halved.
        factor = jnp.where(grows, jnp.where(crossed, 0.5, 2.0), jnp.where(crossed, 1.0, 0.5))
        return step_size * factor, grows, number + 1, crossed

    def searching(carry: Any) -> jax.Array:
        return ~carry[3] & (carry[2] < TRIALS)

    deviation = posterior.prior.standard_deviation if scales is None else None
    first = jnp.float32(GUESS * (1.0 if deviation is None else deviation))
    return jax.lax.while_loop(searching, trial, (first, jnp.array(True), 0, jnp.array(False)))[0]
