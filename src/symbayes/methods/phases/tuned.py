"""Trajectories with tuned settings: the step size found by trial, the length varied or tuned, the mass.

Trajectory ``n`` has the length ``t (1 + j (2 u_n - 1))``, with the jitter ``j`` and the van der Corput
sequence ``u_n``: 1/2, 1/4, 3/4, 1/8 and so on, the same for all chains.

References: van der Corput (1935), Verteilungsfunktionen; Hoffman, Radul & Sountsov (2021), An adaptive-MCMC
scheme for setting trajectory lengths in Hamiltonian Monte Carlo.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from symbayes.engine.phase import Left, Tick, phase, static
from symbayes.methods.phases.adaptation import Tuning
from symbayes.methods.phases.chees import Flown, Length
from symbayes.methods.phases.resting import Resting
from symbayes.methods.phases.stepping import Evidence, Stepping
from symbayes.methods.phases.trajectories import Trajectories, leapfrog_steps
from symbayes.posterior import Posterior

BITS = 16
"""Binary digits of the van der Corput sequence."""

UNKNOWN = 100
"""The expected number of leapfrog steps of a trajectory where nothing is known."""


@phase
class TunedTrajectories(Stepping, Trajectories):
    """Trajectories of all chains, which share step size, length and mass.

    Attributes:
        units: trajectories.
        step_size: the initial step size; None for one that is found by trial.
        trajectory: length of a trajectory; with `chees`, the initial one.
        target_accept: the mean acceptance probability that the step size is adapted to.
        longest: the most steps of a trajectory.  One that is cut off there keeps its step size.
        adapting: whether step size and length are being adapted; else they are those found before.
        keeps: whether each trajectory ends in a draw.
        jitter: relative variation of the length.
        collects: whether the spread of the chains is collected; None for the prior's scales.
        whitens: whether the phase begins with scales from the spread collected before; None likewise.
        chees: whether the length is tuned.
    """

    jitter: Any
    collects: Any
    whitens: Any
    chees: bool = static(default=False)

    @property
    def longest_step(self) -> Any:
        return jnp.inf if self.chees else self.trajectory

    def begin(self, posterior: Posterior, left: Left, tick: Tick) -> Tuning:
        shared = super().begin(posterior, left, tick)
        if self.chees:
            shared = dataclasses.replace(shared, length=self._length(shared, left))
        shared = dataclasses.replace(shared, share=van_der_corput(jnp.int32(0)))
        return self.with_cost(posterior, shared, left, tick)

    def _length(self, shared: Tuning, left: Left) -> Length:
        """The length found before, in this run or in the one from whose draws it starts; with new scales,
        tuning begins again."""
        if shared.length is not None:
            settled, anew = shared.length.settled(), Length.start(self.trajectory)
            fresh = False if self.whitens is None else self.whitens
            return jax.tree.map(lambda new, old: jnp.where(fresh, new, old), anew, settled)
        found = left.found or {}
        if "length/current" in found:
            return Length.start(jnp.exp(jnp.asarray(found["length/current"])))
        return Length.start(self.trajectory)

    def expected_steps(self, posterior: Posterior, begun: int | None = None) -> int:
        if begun is not None:
            return begun
        return UNKNOWN if self.step_size is None else leapfrog_steps(self.trajectory, self.step_size)

    def length(self, shared: Tuning) -> jax.Array:
        mean = self.trajectory if shared.length is None else shared.length.value
        return mean * (1 + self.jitter * (2 * shared.share - 1))

    def scales(self, shared: Tuning) -> Any:
        return shared.scales

    def close(
        self, posterior: Posterior, shared: Tuning, chain: Resting, flight: Any, tick: Tick
    ) -> tuple[Resting, dict[str, jax.Array], Evidence]:
        ended, statistics, acceptance = super().close(posterior, shared, chain, flight, tick)
        length = self.exact_step(posterior, shared) * self.steps(posterior, shared)
        positions = None if self.collects is None else ended.variables["params"]
        flown = self._flown(posterior, shared, chain, flight, length) if self.chees else None
        return ended, {**statistics, "trajectory": length}, Evidence(acceptance, positions, flown)

    def _flown(
        self, posterior: Posterior, shared: Tuning, chain: Resting, flight: Any, length: jax.Array
    ) -> Flown:
        """What the tuning of the length needs of a trajectory, in the whitened parameters."""
        step = self.exact_step(posterior, shared)
        units = jax.tree.map(lambda e: e / step, self.step_of(posterior, shared, chain.variables["params"]))
        begin, end = (
            jax.tree.map(lambda w, s: w / s, each.variables["params"], units) for each in (chain, flight)
        )
        return Flown(begin, end, self.last_momentum(posterior, shared, flight), length)

    def learn(self, shared: Tuning, evidence: Evidence, tick: Tick) -> Tuning:
        learned = super().learn(shared, evidence, tick)
        if evidence.flown is not None:
            longest = self.longest * shared.step_size / (1 + self.jitter)
            length = shared.length.learned(evidence.flown, evidence.acceptance, longest)
            length = jax.tree.map(lambda a, b: jnp.where(self.adapting, a, b), length, shared.length)
            learned = dataclasses.replace(learned, length=length)
        return dataclasses.replace(learned, share=van_der_corput(tick.unit + 1))


def van_der_corput(number: jax.Array) -> jax.Array:
    """The binary digits of number + 1, mirrored at the point: evenly spread numbers between 0 and 1."""
    bits = (number + 1) >> jnp.arange(BITS) & 1
    return jnp.sum(bits * 0.5 ** jnp.arange(1, BITS + 1))
