"""Microcanonical Langevin dynamics, and how every chain tunes it for itself.

Every step of size ``e`` is an isokinetic step (`isokinetic.py` has it), after which the velocity ``u`` partly
forgets its direction over the length ``L``: with ``d`` weights,

    u <- (u + n z) / |u + n z|,    z ~ N(0, I),    n = sqrt((exp(2 e / L) - 1) / d)

There is no accept step.  The bias of the draws follows from the energy error ``D`` of a step.  The step size
is tuned to an energy variance per weight ``V = var(D) / d``, which is measured again after tuning.

Tuning has three stages.  The first two tune the step size, from running sums with a memory of 100 steps,
``c = 99/101``:

    e = (A / B)^(-1/6),    A <- c A + v x / e^6,    B <- c B + v
    x = D^2 / (d V) + 10^-8,    v = exp(-(log x / 9)^2 / 2)

A step that is not finite is taken back, and the step size never exceeds 0.8 of that one again.  The second
stage also collects positions; at its end ``L`` is the root of the sum of their variances.  In the third stage
the step size is fixed, and ``L = 0.4 e t``, where ``t`` is the mean over weights of steps per effective draw,
from the variance of batch means.

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
from symbayes.methods.phases.energies import energies
from symbayes.methods.phases.isokinetic import GRADIENTS, any_direction, isokinetic_step, partly_refreshed
from symbayes.methods.phases.mass import Spread
from symbayes.methods.phases.resting import Resting, either, per_parameter, rest
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.sums import compensated
from symbayes.pytrees import pytree
from symbayes.specs import LARGEST

FIRST_STEP, SHORTEST = 1e-3, 15.0
"""Of tuning: the first step size, and the least first length over which a velocity forgets its direction."""

MEMORY = 99 / 101
SPREAD = 6 * 1.5
"""Of log x, beyond which a step tells little about its size."""
BACK = 0.8
PATH = 0.4
OFF = 3.0
"""How many times the energy variance that was aimed at is told."""
BATCHES = 20
"""Batches from whose means the effective number of draws is taken."""

KEEP, FROM_SPREAD, FROM_BATCHES = 0, 1, 2
"""What the length is when a phase begins: as it was, or from what was collected."""

RENEWED = 1
"""Stream of the direction that a chain takes after a step that was taken back."""


@pytree
@dataclass(frozen=True)
class Means:
    """Batch means: the sum over the current batch and how many it has, and the spread of the means."""

    total: Any
    count: Any
    spread: Spread


@pytree
@dataclass(frozen=True)
class Drifting:
    """One chain: where it is, its velocity, and what tuning knows.

    Attributes:
        length: path over which the velocity forgets its direction.
        cap: largest step size that has not failed.
        above, below: running sums of the step size's tuning.
        spread: of positions, in whitened weights.
        errors: sums over this unit of energy errors, their squares, and steps that were taken back.
    """

    resting: Resting
    velocity: Any
    step_size: Any
    length: Any
    cap: Any
    above: Any
    below: Any
    spread: Any
    means: Any
    errors: Any

    @property
    def variables(self) -> Any:
        return self.resting.variables


@phase
class Microcanonical(Phase):
    """Microcanonical Langevin steps, each chain with a step size and a length of its own.

    Attributes:
        units: draws, each `thin` steps.
        step_size: given, or None for one that is tuned.
        length: given, or None for one that is tuned.
        thin: steps in a unit.
        aim: energy variance per weight that the step size is tuned to, when the phase begins.
        aim_last: the same when it ends.
        tunes: whether the step size is being tuned.
        collects: whether the spread of positions is collected.
        batches: whether means of batches are collected.
        batch_steps: steps in such a batch.
        takes: what the length is when the phase begins.
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

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Drifting:
        if isinstance(left.chain, Drifting):
            return dataclasses.replace(left.chain, length=self._length(left.chain))
        params, zero = left.variables["params"], jnp.zeros(())
        dimension = trees.size(params)
        nothing = Spread.none(params)
        return Drifting(
            resting=rest(posterior, left.variables),
            velocity=any_direction(tick.key, params),
            step_size=jnp.float32(FIRST_STEP if self.step_size is None else self.step_size),
            length=jnp.float32(max(math.sqrt(dimension), SHORTEST) if self.length is None else self.length),
            cap=jnp.float32(LARGEST),
            above=zero,
            below=zero,
            spread=nothing,
            means=Means(jax.tree.map(jnp.zeros_like, params), zero, nothing),
            errors=jnp.zeros(3),
        )

    def _length(self, chain: Drifting) -> jax.Array:
        """What the length becomes when the phase begins."""
        if self.length is not None:
            return chain.length
        of_spread = jnp.sqrt(jnp.maximum(trees.dot(chain.spread.variances(), _ones(chain.velocity)), 1e-12))
        steps = steps_per_draw(chain, self.batch_steps)
        of_batches = PATH * chain.step_size * steps
        of_batches = jnp.where(jnp.isfinite(of_batches) & (of_batches > 0), of_batches, chain.length)
        of_spread = jnp.where(chain.spread.count > 1, of_spread, chain.length)
        chosen = jnp.where(self.takes == FROM_BATCHES, of_batches, chain.length)
        return jnp.where(self.takes == FROM_SPREAD, of_spread, chosen)

    def steps(self, posterior: Posterior, shared: None) -> Any:
        return self.thin

    def gradients_per_step(self, posterior: Posterior) -> float:
        return GRADIENTS

    def step(self, posterior: Posterior, shared: None, flight: Drifting, tick: Tick) -> Drifting:
        here = flight.resting
        params = here.variables["params"]
        scales = per_parameter(posterior, jnp.float32(1.0), params)
        there, velocity, change = isokinetic_step(posterior, here, flight.velocity, flight.step_size, scales)
        potential = posterior.difference_terms(
            there.variables["params"], params, there.likelihood, here.likelihood
        )
        error = change - compensated(*jax.lax.optimization_barrier(potential))
        sound = jnp.isfinite(error) & _finite(velocity) & _finite(there.gradient)
        error = jnp.where(sound, error, 0.0)
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
        return self._collected(self._tuned(moved, error, sound, trees.size(params), tick), scales)

    def _tuned(
        self, chain: Drifting, error: jax.Array, sound: jax.Array, dimension: int, tick: Tick
    ) -> Drifting:
        """With a step size that follows from the energy error, while it is tuned."""
        if self.step_size is not None:
            return chain
        aim = self.aim + (self.aim_last - self.aim) * tick.unit / self.units
        x = error**2 / (dimension * aim) + 1e-8
        weight = jnp.where(sound, jnp.exp(-((jnp.log(x) / SPREAD) ** 2) / 2), 0.0)
        above = MEMORY * chain.above + weight * x / chain.step_size**6
        below = MEMORY * chain.below + weight
        cap = jnp.where(sound, chain.cap, BACK * chain.step_size)
        found = (above / jnp.maximum(below, 1e-30)) ** (-1 / 6)
        found = jnp.where(sound & jnp.isfinite(found), found, cap)
        tuned = dataclasses.replace(
            chain, step_size=jnp.minimum(found, cap), cap=cap, above=above, below=below
        )
        return either(self.tunes, tuned, chain)

    def _collected(self, chain: Drifting, scales: Any) -> Drifting:
        """With this position, where positions or their batch means are collected."""
        white = jax.tree.map(lambda w, s: w / s, chain.variables["params"], scales)
        spread = chain.spread.add(jax.tree.map(lambda w: w[None], white))
        total = jax.tree.map(jnp.add, chain.means.total, white)
        count = chain.means.count + 1
        full = count >= self.batch_steps
        mean = jax.tree.map(lambda t: t[None] / count, total)
        means = Means(
            jax.tree.map(lambda t: jnp.where(full, 0.0, t), total),
            jnp.where(full, 0.0, count),
            either(full, chain.means.spread.add(mean), chain.means.spread),
        )
        return dataclasses.replace(
            chain,
            spread=either(self.collects, spread, chain.spread),
            means=either(self.batches, means, chain.means),
        )

    def close(
        self, posterior: Posterior, shared: None, chain: Drifting, flight: Drifting, tick: Tick
    ) -> tuple[Drifting, dict[str, jax.Array], None]:
        here = flight.resting
        mean, square, back = flight.errors / self.thin
        statistics = {
            **energies(posterior, here.variables["params"], here.likelihood),
            "energy_variance": jnp.maximum(square - mean**2, 0.0) / trees.size(flight.velocity),
            "taken_back": back,
            "step_size": flight.step_size,
            "length": flight.length,
        }
        return dataclasses.replace(flight, errors=jnp.zeros(3)), statistics, None

    def kept(self, unit: int) -> bool:
        return self.keeps


def steps_per_draw(chain: Drifting, batch: Any) -> jax.Array:
    """The mean over weights of steps per effective draw: batch size times the variance of batch means, over
    the variance."""
    of_means, of_all = chain.means.spread.variances(), chain.spread.variances()
    ratio = jax.tree.map(lambda m, v: jnp.sum(m / jnp.maximum(v, 1e-30)), of_means, of_all)
    return batch * jax.tree.reduce(jnp.add, ratio) / trees.size(of_all)


def microcanonical(
    *,
    units: int,
    draws: int,
    thin: int,
    step_size: float | None,
    length: float | None,
    aims: tuple[float, float],
) -> tuple[Microcanonical, ...]:
    """The three stages of tuning, and the draws."""
    last = units // 10
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
    return (
        first,
        dataclasses.replace(first, units=collecting, aim=between, aim_last=aims[1], collects=True),
        dataclasses.replace(first, units=last, tunes=False, batches=True, takes=FROM_SPREAD),
        dataclasses.replace(first, units=draws, tunes=False, takes=FROM_BATCHES, keeps=True),
    )


def judged(traces: Mapping[str, np.ndarray], burn_in: int, aim: float | None) -> list[str]:
    """What to warn of after tuning: an energy variance that is not what was aimed at, and steps taken
    back."""
    warnings = []
    each = traces["energy_variance"][:, burn_in:].mean(axis=1)
    worst = float(each.max())
    if aim is not None and worst > OFF * aim:
        warnings.append(
            f"the energy variance per weight is {worst:.2g} after tuning (chain {int(each.argmax())}), "
            f"where {aim:.2g} was aimed at: these draws are more biased than asked for; use a longer burn_in"
        )
    if (back := float(traces["taken_back"][:, burn_in:].max())) > 0:
        warnings.append(f"up to {back:.1%} of the steps of a draw were not finite and were taken back")
    return warnings


def _ones(tree: Any) -> Any:
    return jax.tree.map(jnp.ones_like, tree)


def _finite(tree: Any) -> jax.Array:
    return jnp.isfinite(trees.dot(tree, tree))
