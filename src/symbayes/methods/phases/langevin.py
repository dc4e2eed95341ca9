"""Langevin proposals over all data, each accepted or rejected exactly.

With ``U(w)`` minus the log density and step size ``e``, every step proposes

    w' = w - e^2/2 grad U(w) + e z,   z ~ N(0, I)

This is one leapfrog step with the momentum ``z``, and is accepted as such.  A unit is `thin` steps.

Reference: Besag (1994), Comments on "Representations of knowledge in complex systems"; Roberts & Rosenthal
(1998), Optimal scaling of discrete approximations to Langevin diffusions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes.engine.phase import Left, Tick, phase
from symbayes.methods.phases.adaptation import Tuning
from symbayes.methods.phases.energies import energies
from symbayes.methods.phases.resting import (
    Resting,
    decide,
    either,
    fresh_momentum,
    leap,
    log_acceptance,
    per_parameter,
)
from symbayes.methods.phases.stepping import Evidence, Stepping
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Walking:
    """The place of a chain, and sums of acceptance and of accepted steps over this unit."""

    resting: Resting
    acceptance: Any
    accepted: Any

    @property
    def variables(self) -> Any:
        return self.resting.variables


@phase
class Langevin(Stepping):
    """Langevin steps of all chains, which share a step size.

    Attributes:
        units: draws, each `thin` steps.
        step_size: the initial step size; None for one that is found by trial.
        thin: steps in a unit.
        target_accept: the mean acceptance probability that the step size is adapted to.
        adapting: whether the step size is being adapted; else it is the one found before.
        keeps: whether each unit ends in a draw.
    """

    open_ended: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ("acceptance", "step_size")

    units: int
    step_size: Any
    thin: Any
    target_accept: Any
    adapting: Any
    keeps: bool

    def enter(self, posterior: Posterior, shared: Tuning, left: Left, tick: Tick) -> Walking:
        if isinstance(left.chain, Walking):
            return left.chain
        return Walking(super().enter(posterior, shared, left, tick), jnp.zeros(()), jnp.zeros(()))

    def steps(self, posterior: Posterior, shared: Tuning | None) -> Any:
        return self.thin

    def step(self, posterior: Posterior, shared: Tuning, flight: Walking, tick: Tick) -> Walking:
        here = flight.resting
        params = here.variables["params"]
        momentum = fresh_momentum(tick.key, params)
        step = per_parameter(posterior, shared.step_size, params)
        there, last = leap(posterior, here, step, momentum)
        log_accept = log_acceptance(posterior, here, there, momentum, last)
        accepted = decide(tick.key, log_accept)
        return Walking(
            either(accepted, there, here),
            flight.acceptance + jnp.minimum(1.0, jnp.exp(log_accept)),
            flight.accepted + accepted,
        )

    def close(
        self, posterior: Posterior, shared: Tuning, chain: Walking, flight: Walking, tick: Tick
    ) -> tuple[Walking, dict[str, jax.Array], Evidence]:
        here = flight.resting
        acceptance = flight.acceptance / self.thin
        statistics = {
            **energies(posterior, here.variables["params"], here.likelihood),
            "acceptance": acceptance,
            "accepted": flight.accepted / self.thin,
            "step_size": shared.step_size,
        }
        return Walking(here, jnp.zeros(()), jnp.zeros(())), statistics, Evidence(acceptance)

    def kept(self, unit: int) -> bool:
        return self.keeps
