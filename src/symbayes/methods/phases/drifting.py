"""How a microcanonical chain tunes itself: its first step, its step size, and the length of its memory.

The first step size is doubled as long as the energy error ``D`` of one step is not above what is aimed at,
and counts as much as ten steps that follow.  Then tuning has three stages.  The first two tune the step size
for ``d`` weights and an energy variance per weight ``V`` that is aimed at, from running sums with a memory of
100 steps, ``c = 99/101``:

    e = (A / B)^(-1/6),    A <- c A + v x / e^6,    B <- c B + v
    x = D^2 / (d V) + 10^-8,    v = exp(-(log x / 9)^2 / 2)

A step that is not finite is taken back, and the step size never exceeds 0.8 of that one again.  The second
stage also collects positions; at its end ``L`` is the root of the sum of their variances.

In the third stage the step size is fixed at 0.9 times the geometric mean of those of the second: a single one
is as noisy as its hundred steps, and energy errors come in rare bursts, the more the closer a step is to the
largest stable one, which a hundred steps seldom see.  The energy variance is measured again; where that is
above the aim, draws are made with a smaller step size, by the sixth root of how much it is above, and no
smaller than 0.75 times.  And ``L = 0.4 e t``, where ``t`` is the mean over weights of steps per effective
draw, from the variance of batch means; batches that are not several times as long as ``t`` tell too small a
one, and ``L`` is then not made smaller.

References: Robnik & Seljak (2024), Fluctuation without dissipation: microcanonical Langevin Monte Carlo;
Sommer et al. (2025), Microcanonical Langevin ensembles.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.methods.phases.isokinetic import isokinetic_step
from symbayes.methods.phases.mass import Spread
from symbayes.methods.phases.resting import Resting, either
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.sums import compensated
from symbayes.pytrees import pytree

FIRST_STEP, SHORTEST = 1e-3, 15.0
"""Of tuning: the first step size that is tried, and the least first length over which a velocity forgets its
direction."""

TRIALS = 40
"""Doublings of the first step size, from one that is small for any network to one that is too large."""

BELIEF = 10.0
"""Steps that the first step size counts for: it was found from one energy error, but the next few, of which
some are close to zero by chance, tell little more."""

MEMORY = 99 / 101
SPREAD = 6 * 1.5
"""Of log x, beyond which a step tells little about its size."""
BACK = 0.8
CAREFUL, LEAST = 0.9, 0.75
"""Of the mean step size, what is taken for the third stage, and what is left of that at least for draws: with
one measured burst, the sixth root would make it tiny."""
PATH = 0.4
LONG = 4.0
"""How many times the steps per effective draw a batch has, at least, for its mean to tell them."""


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
        logarithms: of the step size, summed while positions are collected.
        spread: of positions, in whitened weights.
        errors: sums over this unit of energy errors, their squares, and steps that were taken back.
        measured: the same over the stage with a fixed step size, and how many steps it had.
    """

    resting: Resting
    velocity: Any
    step_size: Any
    length: Any
    cap: Any
    above: Any
    below: Any
    logarithms: Any
    spread: Any
    means: Any
    errors: Any
    measured: Any

    @property
    def variables(self) -> Any:
        return self.resting.variables


def energy_error(
    posterior: Posterior, here: Resting, velocity: Any, step_size: Any, scales: Any
) -> tuple[Resting, Any, jax.Array, jax.Array]:
    """Where a step ends, its velocity, its energy error, and whether all of it is finite."""
    there, velocity, change = isokinetic_step(posterior, here, velocity, step_size, scales)
    potential = posterior.difference_terms(
        there.variables["params"], here.variables["params"], there.likelihood, here.likelihood
    )
    error = change - compensated(*jax.lax.optimization_barrier(potential))
    sound = jnp.isfinite(error) & finite(velocity) & finite(there.gradient)
    return there, velocity, jnp.where(sound, error, 0.0), sound


def first_step(posterior: Posterior, here: Resting, velocity: Any, scales: Any, aim: Any) -> jax.Array:
    """The largest of `FIRST_STEP`, twice that, ... whose energy error is not above what is aimed at."""

    def trial(carry: Any) -> Any:
        step_size, number, _ = carry
        _, _, error, sound = energy_error(posterior, here, velocity, 2 * step_size, scales)
        good = sound & (error**2 <= trees.size(velocity) * aim)
        return jnp.where(good, 2 * step_size, step_size), number + 1, good

    first = (jnp.float32(FIRST_STEP), 0, jnp.array(True))
    return jax.lax.while_loop(lambda carry: carry[2] & (carry[1] < TRIALS), trial, first)[0]


def tuned(chain: Drifting, error: jax.Array, sound: jax.Array, aim: Any) -> Drifting:
    """With a step size that follows from the energy error of the last step."""
    x = error**2 / (trees.size(chain.velocity) * aim) + 1e-8
    weight = jnp.where(sound, jnp.exp(-((jnp.log(x) / SPREAD) ** 2) / 2), 0.0)
    above = MEMORY * chain.above + weight * x / chain.step_size**6
    below = MEMORY * chain.below + weight
    cap = jnp.where(sound, chain.cap, BACK * chain.step_size)
    found = (above / jnp.maximum(below, 1e-30)) ** (-1 / 6)
    found = jnp.where(sound & jnp.isfinite(found), found, cap)
    return dataclasses.replace(chain, step_size=jnp.minimum(found, cap), cap=cap, above=above, below=below)


def collected(chain: Drifting, white: Any) -> Drifting:
    """With one more position, in whitened weights, and its step size."""
    return dataclasses.replace(
        chain,
        spread=chain.spread.add(jax.tree.map(lambda w: w[None], white)),
        logarithms=chain.logarithms + jnp.log(chain.step_size),
    )


def batched(chain: Drifting, white: Any, batch: Any, error: jax.Array) -> Drifting:
    """With one more position in the means of batches of so many steps, and one more energy error."""
    total = jax.tree.map(jnp.add, chain.means.total, white)
    count = chain.means.count + 1
    full = count >= batch
    mean = jax.tree.map(lambda t: t[None] / count, total)
    means = Means(
        jax.tree.map(lambda t: jnp.where(full, 0.0, t), total),
        jnp.where(full, 0.0, count),
        either(full, chain.means.spread.add(mean), chain.means.spread),
    )
    return dataclasses.replace(
        chain, means=means, measured=chain.measured + jnp.stack([error, error**2, jnp.ones(())])
    )


def after_collecting(chain: Drifting, fixed_step: bool, fixed_length: bool) -> Drifting:
    """When the third stage begins: the mean step size, and the length from the spread of positions."""
    some = chain.spread.count > 1
    variances = jax.tree.map(jnp.sum, chain.spread.variances())
    of_spread = jnp.sqrt(jnp.maximum(jax.tree.reduce(jnp.add, variances), 1e-12))
    mean = CAREFUL * jnp.exp(chain.logarithms / jnp.maximum(chain.spread.count, 1))
    mean = jnp.minimum(mean, chain.cap)
    return dataclasses.replace(
        chain,
        step_size=chain.step_size if fixed_step else jnp.where(some, mean, chain.step_size),
        length=chain.length if fixed_length else jnp.where(some, of_spread, chain.length),
    )


def after_batches(chain: Drifting, batch: Any, aim: Any, fixed_step: bool, fixed_length: bool) -> Drifting:
    """When draws begin: the length from batch means, and a step size that keeps to the aim."""
    steps = steps_per_draw(chain, batch)
    of_batches = PATH * chain.step_size * steps
    known = jnp.isfinite(of_batches) & (of_batches > 0) & (chain.measured[2] > 0)
    sure = LONG * steps < batch
    length = jnp.where(sure, of_batches, jnp.maximum(of_batches, chain.length))
    variance = energy_variance(chain.measured, chain.measured[2], chain.velocity)
    smaller = jnp.clip((aim / jnp.maximum(variance, 1e-30)) ** (1 / 6), LEAST, 1.0)
    return dataclasses.replace(
        chain,
        step_size=chain.step_size if fixed_step else chain.step_size * smaller,
        length=chain.length if fixed_length else jnp.where(known, length, chain.length),
    )


def energy_variance(sums: jax.Array, count: Any, velocity: Any) -> jax.Array:
    """Per weight, from sums of energy errors and of their squares."""
    mean, square = sums[0] / jnp.maximum(count, 1), sums[1] / jnp.maximum(count, 1)
    return jnp.maximum(square - mean**2, 0.0) / trees.size(velocity)


def steps_per_draw(chain: Drifting, batch: Any) -> jax.Array:
    """The mean over weights of steps per effective draw: batch size times the variance of batch means, over
    the variance."""
    of_means, of_all = chain.means.spread.variances(), chain.spread.variances()
    ratio = jax.tree.map(lambda m, v: jnp.sum(m / jnp.maximum(v, 1e-30)), of_means, of_all)
    return batch * jax.tree.reduce(jnp.add, ratio) / trees.size(of_all)


def finite(tree: Any) -> jax.Array:
    return jnp.isfinite(trees.dot(tree, tree))
