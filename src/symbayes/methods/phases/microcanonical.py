"""Microcanonical Langevin dynamics, without an accept step.

Every step of size ``e`` is an isokinetic step (`isokinetic.py` has it), after which the velocity ``u`` is
partly refreshed, such that it decorrelates over the length ``L``: with ``d`` weights,

    u <- (u + n z) / |u + n z|,    z ~ N(0, I),    n = sqrt((exp(2 e / L) - 1) / d)

The bias of the draws is determined by the energy error ``D`` of a step.  The step size is tuned to an energy
variance per weight ``V = var(D) / d``, which is measured again after tuning.  Every chain is tuned separately
(`drifting.py` has the stages).  A run that starts from draws of another of the same method begins with the
geometric means of the step sizes and lengths that its chains found.

Reference: Robnik & Seljak (2024), Fluctuation without dissipation: microcanonical Langevin Monte Carlo.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.engine.phase import Left, Phase, Tick, phase
from symbayes.methods.phases import drifting
from symbayes.methods.phases.drifting import Drifting, Means, energy_error, energy_variance
from symbayes.methods.phases.energies import energies
from symbayes.methods.phases.isokinetic import GRADIENTS, any_direction, partly_refreshed
from symbayes.methods.phases.mass import Spread
from symbayes.methods.phases.resting import either, per_parameter, rest
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree
from symbayes.specs import LARGEST

OFF = 3.0
"""The multiple of the target energy variance from which a warning is given."""
BATCHES = 20
"""The number of batches from whose means the effective number of draws is estimated."""

KEEP, COLLECTED, BATCHED = 0, 1, 2
"""What a phase begins with: the settings of the one before, or those from positions or from batch means."""

RENEWED = 1
"""Stream of the new direction of a chain after a step that was taken back."""


@pytree
@dataclass(frozen=True)
class Settled:
    """Geometric means of the step sizes and lengths of the chains, for runs that start from their draws."""

    step_size: Any
    length: Any


@phase
class Microcanonical(Phase):
    """Microcanonical Langevin steps, each chain with a step size and a length of its own.

    Attributes:
        units: draws, each `thin` steps.
        step_size: the given step size, or None for one that is tuned.
        length: the given length, or None for one that is tuned.
        thin: steps in a unit.
        aim: target energy variance per weight at the beginning of the phase.
        aim_last: the same at its end.
        tunes: whether the step size is being tuned.
        collects: whether the spread of positions is collected.
        batches: whether means of batches are collected.
        batch_steps: steps in such a batch.
        takes: what the phase begins with.
        keeps: whether each unit ends in a draw.
    """

    open_ended: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ("energy_variance", "step_size")

    units: Any
    step_size: Any
    length: Any
    thin: Any
    aim: Any
    aim_last: Any
    tunes: Any
    collects: Any
    batches: Any
    batch_steps: Any
    takes: Any
    keeps: bool

    def begin(self, posterior: Posterior, left: Left, tick: Tick) -> Settled:
        if isinstance(left.shared, Settled):
            return left.shared
        found = left.found or {}
        return Settled(*(jnp.float32(found.get(name, 0.0)) for name in ("step_size", "length")))

    def enter(self, posterior: Posterior, shared: Settled, left: Left, tick: Tick) -> Drifting:
        if isinstance(left.chain, Drifting):
            return self._went_on(left.chain)
        params, zero = left.variables["params"], jnp.zeros(())
        nothing, here = Spread.none(params), rest(posterior, left.variables)
        velocity = any_direction(tick.key, params)
        first: Any = jnp.float32(max(math.sqrt(trees.size(params)), drifting.SHORTEST))
        length = first if left.found is None else jnp.where(shared.length > 0, shared.length, first)
        step: Any = self.step_size
        if step is None:
            scales = per_parameter(posterior, jnp.float32(1.0), params)
            tried = drifting.first_step(posterior, here, velocity, scales, self.aim)
            step = jnp.where(shared.step_size > 0, shared.step_size, tried)
        return Drifting(
            resting=here,
            velocity=velocity,
            step_size=jnp.float32(step),
            length=jnp.float32(length if self.length is None else self.length),
            cap=jnp.float32(LARGEST),
            above=drifting.BELIEF / jnp.float32(step) ** 6,
            below=zero + drifting.BELIEF,
            logarithms=zero,
            spread=nothing,
            means=Means(jax.tree.map(jnp.zeros_like, params), zero, nothing),
            errors=jnp.zeros(3),
            measured=jnp.zeros(3),
        )

    def _went_on(self, chain: Drifting) -> Drifting:
        """A chain that continues from the stage before."""
        fixed = self.step_size is not None, self.length is not None
        third = drifting.after_collecting(chain, *fixed)
        draws = drifting.after_batches(chain, self.batch_steps, self.aim_last, *fixed)
        takes = jnp.asarray(self.takes)
        return either(takes == BATCHED, draws, either(takes == COLLECTED, third, chain))

    def steps(self, posterior: Posterior, shared: Settled | None) -> Any:
        return self.thin

    def gradients_per_step(self, posterior: Posterior) -> float:
        return GRADIENTS

    def step(self, posterior: Posterior, shared: Settled, flight: Drifting, tick: Tick) -> Drifting:
        here = flight.resting
        params = here.variables["params"]
        scales = per_parameter(posterior, jnp.float32(1.0), params)
        there, velocity, error, sound = energy_error(
            posterior, here, flight.velocity, flight.step_size, scales
        )
        velocity = either(
            sound,
            partly_refreshed(tick.key, velocity, flight.step_size, flight.length),
            any_direction(jax.random.fold_in(tick.key, RENEWED), params),
        )
        moved = dataclasses.replace(
            flight,
            resting=either(sound, there, here),
            velocity=velocity,
            errors=flight.errors + jnp.stack([error, error**2, 1.0 - sound]),
        )
        white = jax.tree.map(lambda w, s: w / s, moved.variables["params"], scales)
        moved = either(self.collects, drifting.collected(moved, white), moved)
        moved = either(self.batches, drifting.batched(moved, white, self.batch_steps, error), moved)
        if self.step_size is not None:
            return moved
        aim = self.aim + (self.aim_last - self.aim) * tick.unit / self.units
        return either(self.tunes, drifting.tuned(moved, error, sound, aim), moved)

    def close(
        self, posterior: Posterior, shared: Settled, chain: Drifting, flight: Drifting, tick: Tick
    ) -> tuple[Drifting, dict[str, jax.Array], Settled]:
        here = flight.resting
        statistics = {
            **energies(posterior, here.variables["params"], here.likelihood),
            "energy_variance": energy_variance(flight.errors, self.thin, flight.velocity),
            "taken_back": flight.errors[2] / self.thin,
            "step_size": flight.step_size,
            "length": flight.length,
        }
        ended = dataclasses.replace(flight, errors=jnp.zeros(3))
        return ended, statistics, Settled(flight.step_size, flight.length)

    def learn(self, shared: Settled, evidence: Settled, tick: Tick) -> Settled:
        return jax.tree.map(lambda each: jnp.exp(jnp.mean(jnp.log(each))), evidence)

    def kept(self, unit: int) -> bool:
        return self.keeps


def microcanonical(
    *,
    units: int,
    draws: int,
    thin: int,
    step_size: float | None,
    length: float | None,
    aims: tuple[float, float],
    late: float,
) -> tuple[Microcanonical, ...]:
    """The three stages of tuning, of which each of the last two has the share `late`, and the draws."""
    last = int(late * units)
    collecting = last
    tuning = units - collecting - last
    change = tuning / max(tuning + collecting, 1)
    between = aims[0] + (aims[1] - aims[0]) * change
    first = Microcanonical(
        units=tuning,
        step_size=step_size,
        length=length,
        thin=thin,
        aim=aims[0],
        aim_last=between,
        tunes=True,
        collects=False,
        batches=False,
        batch_steps=max(1, last * thin // BATCHES),
        takes=KEEP,
        keeps=False,
    )
    second = dataclasses.replace(first, units=collecting, aim=between, aim_last=aims[1], collects=True)
    third = dataclasses.replace(
        second, units=last, aim=aims[1], tunes=False, collects=False, batches=True, takes=COLLECTED
    )
    drawing = dataclasses.replace(third, units=draws, batches=False, takes=BATCHED, keeps=True)
    return first, second, third, drawing


def judged(traces: Mapping[str, np.ndarray], burn_in: int, aim: float | None) -> list[str]:
    """Warnings after tuning: about an energy variance above its target, and about steps taken back."""
    warnings = []
    each = traces["energy_variance"][:, burn_in:].mean(axis=1)
    worst = float(each.max())
    if aim is not None and worst > OFF * aim:
        warnings.append(
            f"the energy variance per weight is {worst:.2g} after tuning (chain {int(each.argmax())}), "
            f"but its target was {aim:.2g}: draws are more biased than intended; use a longer burn_in"
        )
    if (back := float(traces["taken_back"][:, burn_in:].max())) > 0:
        warnings.append(f"up to {back:.1%} of the steps of a draw were not finite and were taken back")
    return warnings
