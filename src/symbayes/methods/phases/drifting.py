"""Tuning of a microcanonical chain: its first step size, its step size, and its decorrelation length.

The first step size is doubled as long as the energy error ``D`` of one step is not above the target, and
counts as much as ten later steps.  Then tuning has three stages.  The first two tune the step size for ``d``
weights and a target ``V`` of the energy variance per weight, from running sums with a memory of 100 steps,
``c = 99/101``:

    e = (A / B)^(-1/6),    A <- c A + v x / e^6,    B <- c B + v
    x = D^2 / (d V) + 10^-8,    v = exp(-(log x / 9)^2 / 2)

A step that is not finite is taken back, and the step size never again exceeds 0.8 times the size of that
step.  The second stage also collects positions; at its end ``L`` is the root of the sum of their variances.

In the third stage the step size is fixed at 0.9 times the geometric mean of those of the second.  A single
one is as noisy as the hundred steps that it is tuned from.  Energy errors come in rare bursts, more of them
the closer a step is to the largest stable one, and a hundred steps seldom contain one.  The energy variance
is measured again; where it is above the target, the step size of draws is divided by the sixth root of their
ratio, and is at least 0.75 times what it was.  ``L = 0.4 e t``, where ``t`` is the mean over weights of steps
per effective draw, from the variance of batch means.  Where batches are not several times as long as ``t``,
the estimate is too small, and ``L`` is then not reduced.

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
from symbayes.methods.phases.resting import Resting, either, exact
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.sums import compensated
from symbayes.pytrees import pytree

FIRST_STEP, SHORTEST = 1e-3, 15.0
"""The first step size that is tried, and the least initial length over which a velocity decorrelates."""

TRIALS = 40
"""Doublings of the first step size, from one that is small for any network to one that is too large."""

BELIEF = 10.0
"""The number of steps that the first step size counts as: it comes from one energy error, but the next few,
of which some are close to zero by chance, add little information."""

MEMORY = 99 / 101
SPREAD = 6 * 1.5
"""The width in log x beyond which a step has little influence on the step size."""
BACK = 0.8
CAREFUL, LEAST = 0.9, 0.75
"""The step size of the third stage relative to the mean step size, and the least step size of draws relative
to that: after one measured burst, the sixth root would make it tiny."""
PATH = 0.4
LONG = 4.0
"""The least length of a batch, in steps per effective draw, from which these can be estimated."""


@pytree
@dataclass(frozen=True)
class Means:
    """Batch means: the sum over the current batch, the number of its steps, and the spread of the means."""

    total: Any
    count: Any
    spread: Spread


@pytree
@dataclass(frozen=True)
class Drifting:
    """One chain: its position, its velocity, and the state of its tuning.

    Attributes:
        length: path length over which the velocity decorrelates.
        cap: largest step size that is allowed after steps that were not finite.
        above, below: running sums ``A`` and ``B`` of the tuning of the step size.
        logarithms: sum of log step sizes while positions are collected.
        spread: spread of positions, in whitened weights.
        errors: sums over this unit of energy errors, their squares, and steps that were taken back.
        measured: the same over the stage with a fixed step size, and the number of its steps.
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
    """The end of a step, its velocity, its energy error, and whether all of these are finite."""
    there, velocity, change = isokinetic_step(posterior, here, velocity, step_size, scales)
    there = exact(posterior, there)
    potential = posterior.difference_terms(
        there.variables["params"], here.variables["params"], there.likelihood, here.likelihood
    )
    error = change - compensated(*jax.lax.optimization_barrier(potential))
    sound = jnp.isfinite(error) & finite(velocity) & finite(there.gradient)
    return there, velocity, jnp.where(sound, error, 0.0), sound


def first_step(posterior: Posterior, here: Resting, velocity: Any, scales: Any, aim: Any) -> jax.Array:
    """The largest of `FIRST_STEP`, twice that, ... whose energy error is not above the target."""

    def trial(carry: Any) -> Any:
        step_size, number, _ = carry
        _, _, error, sound = energy_error(posterior, here, velocity, 2 * step_size, scales)
        good = sound & (error**2 <= trees.size(velocity) * aim)
        return jnp.where(good, 2 * step_size, step_size), number + 1, good

    first = (jnp.float32(FIRST_STEP), 0, jnp.array(True))
    return jax.lax.while_loop(lambda carry: carry[2] & (carry[1] < TRIALS), trial, first)[0]


def tuned(chain: Drifting, error: jax.Array, sound: jax.Array, aim: Any) -> Drifting:
    """The chain with its step size updated from the energy error of the last step."""
    x = error**2 / (trees.size(chain.velocity) * aim) + 1e-8
    weight = jnp.where(sound, jnp.exp(-((jnp.log(x) / SPREAD) ** 2) / 2), 0.0)
    above = MEMORY * chain.above + weight * x / chain.step_size**6
    below = MEMORY * chain.below + weight
    cap = jnp.where(sound, chain.cap, BACK * chain.step_size)
    found = (above / jnp.maximum(below, 1e-30)) ** (-1 / 6)
    found = jnp.where(sound & jnp.isfinite(found), found, cap)
    return dataclasses.replace(chain, step_size=jnp.minimum(found, cap), cap=cap, above=above, below=below)


def collected(chain: Drifting, white: Any) -> Drifting:
    """The chain with one more collected position, in whitened weights, and its step size."""
    return dataclasses.replace(
        chain,
        spread=chain.spread.add(jax.tree.map(lambda w: w[None], white)),
        logarithms=chain.logarithms + jnp.log(chain.step_size),
    )


def batched(chain: Drifting, white: Any, batch: Any, error: jax.Array) -> Drifting:
    """The chain with one more position in the means of batches of `batch` steps, and its energy error."""
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
    """When draws begin: the length from batch means, and a step size that meets the target."""
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
    """The energy variance per weight, from sums of energy errors and of their squares."""
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
