"""The trajectory length that changes the estimator of the squared distance from the mean most: ChEES.

With ``w`` the beginning and ``w'`` the end of a trajectory, ``p'`` its last momentum, ``t`` its length, and
means over chains weighted by the acceptance probability, the derivative of
``1/4 E[(|w' - E w'|^2 - |w - E w|^2)^2]`` in the logarithm of the length is

    g = E[(|w' - E w'|^2 - |w - E w|^2) <w' - E w', p'> t]

The logarithm of the length follows Adam with ``beta_1 = 0``, ``beta_2 = 0.95`` and a rate that falls from 0.3
to 0.025.  When adaptation ends, the length is an average over its later part.

Reference: Hoffman, Radul & Sountsov (2021), An adaptive-MCMC scheme for setting trajectory lengths in
Hamiltonian Monte Carlo.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.pytrees import pytree

FIRST, LAST = 0.3, 0.025
BETA = 0.95
KAPPA = 0.5
CHANGE = 0.35
"""The largest change of log length in one trial."""


@pytree
@dataclass(frozen=True)
class Flown:
    """What the tuning of the length needs of a trajectory: begin and end in whitened parameters, and the
    last momentum."""

    begin: Any
    end: Any
    momentum: Any
    length: Any


@pytree
@dataclass(frozen=True)
class Length:
    """The logarithms of the current length and of its running average, and the state of their adaptation."""

    current: Any
    average: Any
    square: Any
    trials: Any

    @classmethod
    def start(cls, length: Any) -> Length:
        first = jnp.log(jnp.float32(length))
        return cls(first, first, jnp.float32(0), jnp.float32(0))

    @property
    def value(self) -> jax.Array:
        return jnp.exp(self.current)

    def learned(self, flown: Flown, acceptance: jax.Array, longest: jax.Array) -> Length:
        """After the trajectories of all chains.

        Above `longest`, where trajectories are cut off, the length does not grow: they tell nothing of it.
        """
        gradient = criterion_gradient(flown, acceptance)
        gradient = jnp.where(jnp.isfinite(gradient), gradient, 0.0)
        trials = self.trials + 1
        square = BETA * self.square + (1 - BETA) * gradient**2
        direction = gradient / (jnp.sqrt(square / (1 - BETA**trials)) + jnp.finfo(jnp.float32).tiny)
        rate = jnp.maximum(LAST, FIRST / jnp.sqrt(trials))
        current = self.current + jnp.clip(rate * direction, -CHANGE, CHANGE)
        current = jnp.minimum(current, jnp.maximum(self.current, jnp.log(longest)))
        forget = trials**-KAPPA
        average = forget * current + (1 - forget) * self.average
        return Length(current, average, square, trials)

    def settled(self) -> Length:
        """When adaptation ends: the average is the length."""
        return dataclasses.replace(self, current=self.average)


def criterion_gradient(flown: Flown, acceptance: jax.Array) -> jax.Array:
    """The derivative of the criterion in log length, from the trajectories of all chains."""
    total = jnp.maximum(jnp.sum(acceptance), jnp.finfo(jnp.float32).tiny)
    # A trajectory that diverged has weight zero, and its end may be anything.
    sound = jax.tree.map(lambda x: jnp.nan_to_num(x, posinf=0.0, neginf=0.0), (flown.end, flown.momentum))
    end = trees.ravel(sound[0], 1)
    momentum = trees.ravel(sound[1], 1)
    begin = trees.ravel(flown.begin, 1)
    weight = acceptance[:, None] / total
    end = end - jnp.sum(weight * end, axis=0)
    begin = begin - jnp.mean(begin, axis=0)
    change = jnp.sum(end**2, axis=1) - jnp.sum(begin**2, axis=1)
    each = change * jnp.sum(end * momentum, axis=1) * flown.length
    return jnp.sum(jnp.where(acceptance > 0, acceptance * each, 0.0)) / total
