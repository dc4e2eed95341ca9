"""Isokinetic trajectories: a velocity in a fresh direction, isokinetic steps, and an exact accept step.

``D_i`` is the change of the kinetic energy in step ``i`` of a trajectory (`isokinetic.py` has the step).  The
end ``w`` of a trajectory from ``w0`` is accepted with probability

    min(1, exp(log p(w) - log p(w0) - sum_i D_i))

and otherwise the old draw is repeated.  Steps and lengths are those of HMC: a step of size ``e`` moves ``d``
parameters by ``e sqrt(d)``, as far as a momentum of ``N(0, I)`` would.

Reference: Robnik, Cohn-Gordon & Seljak (2025), Metropolis adjusted microcanonical Hamiltonian Monte Carlo.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine.phase import Tick, phase
from symbayes.methods.phases.adaptation import Tuning
from symbayes.methods.phases.isokinetic import GRADIENTS, any_direction, isokinetic_step
from symbayes.methods.phases.resting import Resting, exact, per_parameter
from symbayes.methods.phases.tuned import TunedTrajectories
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.sums import compensated
from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Gliding:
    """A trajectory in progress, and the change of its kinetic energy so far."""

    variables: Any
    gradient: Any
    likelihood: Any
    velocity: Any
    change: Any


@phase
class IsokineticTrajectories(TunedTrajectories):
    """Isokinetic trajectories of all chains, which share step size, length and mass."""

    def gradients_per_step(self, posterior: Posterior) -> float:
        return GRADIENTS

    def open(self, posterior: Posterior, shared: Tuning, chain: Resting, tick: Tick) -> Gliding:
        velocity = any_direction(tick.key, chain.variables["params"])
        return Gliding(chain.variables, chain.gradient, chain.likelihood, velocity, jnp.zeros(()))

    def step(self, posterior: Posterior, shared: Tuning, flight: Gliding, tick: Tick) -> Gliding:
        params = flight.variables["params"]
        here = Resting(flight.variables, flight.gradient, flight.likelihood)
        step_size = self.exact_step(posterior, shared) * math.sqrt(trees.size(params))
        scales = per_parameter(posterior, jnp.float32(1.0), params, shared.scales)
        there, velocity, change = isokinetic_step(posterior, here, flight.velocity, step_size, scales)
        return Gliding(there.variables, there.gradient, there.likelihood, velocity, flight.change + change)

    def judged(
        self, posterior: Posterior, shared: Tuning, chain: Resting, flight: Gliding, tick: Tick
    ) -> tuple[Resting, jax.Array, Any]:
        end = exact(posterior, Resting(flight.variables, flight.gradient, flight.likelihood))
        new, old = end.variables["params"], chain.variables["params"]
        potential = posterior.difference_terms(new, old, end.likelihood, chain.likelihood)
        log_accept = compensated(*potential, -flight.change)
        return end, jnp.where(jnp.isnan(log_accept), -jnp.inf, log_accept), None

    def last_momentum(self, posterior: Posterior, shared: Tuning, flight: Gliding) -> Any:
        root = math.sqrt(trees.size(flight.velocity))
        return jax.tree.map(lambda u: root * u, flight.velocity)
