"""Hamiltonian trajectories: a fresh momentum, leapfrog steps, and an exact accept step.

With ``U(w)`` minus the log density, momentum ``p ~ N(0, I)`` and step size ``e``, each of ``L`` leapfrog
steps is

    p <- p - e/2 grad U(w)
    w <- w + e p
    p <- p - e/2 grad U(w)

where the last half step of the momentum and the first of the next step share one gradient.  The end is
accepted with probability

    min(1, exp(U(w0) + |p0|^2/2 - U(w) - |p|^2/2))

and otherwise the old draw is repeated.  The difference of the energies is summed from element-wise
differences: totals of a large network do not fit float32.

Where the prior has one standard deviation, every parameter takes the same step ``e``.  Where its parameters
have different ones, ``s``, the dynamics is that of the whitened parameters ``w / s``: ``w`` takes the step
``e s``, and so does ``p``.

Reference: Neal (2011), MCMC using Hamiltonian dynamics.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes.engine.phase import Left, Phase, Tick, phase
from symbayes.methods.phases.adaptation import DualAveraging
from symbayes.methods.phases.energies import energies, kinetic
from symbayes.methods.phases.precision import acceptance_lost
from symbayes.methods.phases.resting import (
    DIVERGENT,
    Resting,
    decide,
    either,
    exact,
    fresh_momentum,
    log_acceptance,
    per_parameter,
    rest,
)
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree

LARGE = 1 << 16
"""The size of a gradient from which it is computed completely before it is added to the momentum."""

ROUNDING = 1e-5
"""Keeps 0.48 / 0.008 at 60 steps, also in float32."""


@pytree
@dataclass(frozen=True)
class Flying:
    """A trajectory in progress: its momentum is half a step ahead of the position, and the likelihood's terms
    have the precision of the gradient."""

    variables: Any
    gradient: Any
    likelihood: Any
    momentum: Any


@phase
class Trajectories(Phase):
    """Trajectories of all chains, which share a step size.

    Attributes:
        units: trajectories.
        step_size: the initial step size.
        trajectory: length of a trajectory, step size times number of steps.
        target_accept: the mean acceptance probability that the step size is adapted to.
        longest: the most steps of a trajectory.  One that is cut off there keeps its step size.
        adapting: whether the step size is being adapted; else it is the one found before.
        keeps: whether each trajectory ends in a draw.
    """

    open_ended: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ("acceptance", "step_size")

    units: int
    step_size: Any
    trajectory: Any
    target_accept: Any
    longest: Any
    adapting: Any
    keeps: bool

    def begin(self, posterior: Posterior, left: Left, tick: Tick) -> DualAveraging:
        if isinstance(left.shared, DualAveraging):
            shared = left.shared.settled(at_most=self.trajectory)
        else:
            shared = DualAveraging.start(self.step_size)
        return self.with_cost(posterior, shared, left, tick)

    def with_cost(self, posterior: Posterior, shared: Any, left: Left, tick: Tick) -> Any:
        """The same with the loss of acceptance due to reduced-precision gradients, measured after a phase."""
        if posterior.precision == "float32":
            return shared
        shared = dataclasses.replace(shared, lost=jnp.zeros(()))
        if left.shared is None:
            return shared
        return dataclasses.replace(shared, lost=acceptance_lost(self, posterior, shared, left, tick))

    def enter(self, posterior: Posterior, shared: Any, left: Left, tick: Tick) -> Resting:
        if isinstance(left.chain, Resting):
            return left.chain
        return rest(posterior, left.variables)

    @property
    def joint(self) -> bool:
        return self.adapts

    @property
    def adapts(self) -> bool:
        return bool(self.adapting)

    def expected_steps(self, posterior: Posterior, begun: int | None = None) -> int:
        return leapfrog_steps(self.trajectory, self.step_size) if begun is None else begun

    def length(self, shared: Any) -> Any:
        """The length of the next trajectory."""
        return self.trajectory

    def scales(self, shared: Any) -> Any:
        """Scales of the parameters; None for the prior's."""
        return None

    def steps(self, posterior: Posterior, shared: DualAveraging) -> jax.Array:
        """``ceil(trajectory / step size)``."""
        steps = jnp.ceil(self.length(shared) / shared.step_size * (1 - ROUNDING)).astype(jnp.int32)
        return jnp.clip(steps, 1, self.longest)

    def exact_step(self, posterior: Posterior, shared: DualAveraging) -> jax.Array:
        """The step size with which the trajectory is a whole number of steps."""
        steps = self.steps(posterior, shared)
        return jnp.where(steps < self.longest, self.length(shared) / steps, shared.step_size)

    def step_of(self, posterior: Posterior, shared: DualAveraging, params: Any) -> Any:
        """The step of every parameter."""
        return per_parameter(posterior, self.exact_step(posterior, shared), params, self.scales(shared))

    def open(self, posterior: Posterior, shared: Any, chain: Resting, tick: Tick) -> Any:
        params = chain.variables["params"]
        step = self.step_of(posterior, shared, params)
        momentum = fresh_momentum(tick.key, params)
        momentum = jax.tree.map(lambda p, e, g: p + e / 2 * g, momentum, step, chain.gradient)
        return Flying(chain.variables, chain.gradient, chain.likelihood, momentum)

    def step(self, posterior: Posterior, shared: Any, flight: Any, tick: Tick) -> Any:
        params = flight.variables["params"]
        step = self.step_of(posterior, shared, params)
        params = jax.tree.map(lambda w, e, p: w + e * p, params, step, flight.momentum)
        variables = {**flight.variables, "params": params}
        gradient, terms = posterior.gradient_and_terms(variables)
        gradient = jax.tree.map(_settled, gradient)
        momentum = jax.tree.map(lambda p, e, g: p + e * g, flight.momentum, step, gradient)
        return Flying(variables, gradient, terms, momentum)

    def close(
        self, posterior: Posterior, shared: Any, chain: Resting, flight: Any, tick: Tick
    ) -> tuple[Resting, dict[str, jax.Array], Any]:
        end, log_accept, momenta = self.judged(posterior, shared, chain, flight, tick)
        accepted = decide(tick.key, log_accept)
        chain = either(accepted, end, chain)
        acceptance = jnp.minimum(1.0, jnp.exp(log_accept))
        statistics = {
            **energies(posterior, chain.variables["params"], chain.likelihood),
            "acceptance": acceptance,
            "accepted": accepted,
            "divergent": log_accept < -DIVERGENT,
            "step_size": self.exact_step(posterior, shared),
            **({} if shared.lost is None else {"acceptance_lost": shared.lost}),
            **({} if momenta is None else {"kinetic": kinetic(either(accepted, *momenta))}),
        }
        return chain, statistics, acceptance

    def judged(
        self, posterior: Posterior, shared: Any, chain: Resting, flight: Any, tick: Tick
    ) -> tuple[Resting, jax.Array, Any]:
        """The end of a trajectory, the log of its acceptance probability, and the last and the first
        momentum."""
        end = exact(posterior, Resting(flight.variables, flight.gradient, flight.likelihood))
        first = fresh_momentum(tick.key, chain.variables["params"])
        last = self.last_momentum(posterior, shared, flight)
        return end, log_acceptance(posterior, chain, end, first, last), (last, first)

    def last_momentum(self, posterior: Posterior, shared: Any, flight: Any) -> Any:
        """The momentum at the end, no longer half a step ahead."""
        step = self.step_of(posterior, shared, flight.variables["params"])
        return jax.tree.map(lambda p, e, g: p - e / 2 * g, flight.momentum, step, flight.gradient)

    def learn(self, shared: Any, evidence: Any, tick: Tick) -> DualAveraging:
        learned = shared.update(jnp.mean(evidence), self.target_accept, self.step_size)
        learned = dataclasses.replace(learned, step_size=jnp.minimum(learned.step_size, self.trajectory))
        return jax.tree.map(lambda new, old: jnp.where(self.adapting, new, old), learned, shared)

    def kept(self, unit: int) -> bool:
        return self.keeps


def leapfrog_steps(trajectory: float, step_size: float) -> int:
    """Steps in a trajectory at this step size."""
    return max(1, math.ceil(trajectory / step_size * (1 - ROUNDING)))


def _settled(gradient: jax.Array) -> jax.Array:
    """The same gradient; a large one is computed completely before it is used.

    A GPU sums a matrix product in parts; fused with later operations, the last sum reads them against their
    memory layout.  For a small gradient a separate kernel costs more than it saves.
    """
    return jax.lax.optimization_barrier(gradient) if gradient.size >= LARGE else gradient
