"""A Gaussian of diagonal plus low rank, from the weights along training.

At the end of every epoch the weights ``w`` are collected.  ``w'`` is the mean of the ``n`` weights so far,
the last included.  ``D`` has the deviations ``w - w'`` of the last ``K`` epochs as columns, and the variances
are over all epochs:

    s^2 = 1/n sum_i w_i^2 - w'^2

When the phase ends, the distribution of the weights is

    N(w', diag(s^2) / 2 + D D^T / (2 (K - 1)))

so a draw is ``w' + s z_1 / sqrt(2) + D z_2 / sqrt(2 (K - 1))`` with standard normal ``z_1`` and ``z_2``.
``K`` is the number of deviations that were collected, where there were fewer epochs than asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import jax
import jax.numpy as jnp

from symbayes.distributions import Gaussian
from symbayes.engine.phase import Left, Tick, phase, static
from symbayes.methods.phases.averaging import Averaged, Averaging
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Collected(Averaged):
    """A network in training, the mean of its weights, summed squares around it, and the last deviations."""

    squares: Any
    deviations: Any

    def taken(self, decay: Any) -> Collected:
        params, before = self.variables["params"], self.mean
        after = super().taken(decay)
        # As a sum of products that are never negative, where a difference of squares would cancel.
        squares = jax.tree.map(
            lambda s, w, old, new: s + (w - old) * (w - new), self.squares, params, before, after.mean
        )
        place = self.count.astype(jnp.int32) % jax.tree.leaves(self.deviations)[0].shape[0]
        deviations = jax.tree.map(
            lambda rows, w, new: rows.at[place].set(w - new), self.deviations, params, after.mean
        )
        return _extended(after, squares=squares, deviations=deviations)


@phase
class Collect(Averaging):
    """Epochs of training; a Gaussian is fitted to the weights at their ends.

    Attributes:
        rank: the most deviations that are kept.
    """

    rank: int = static(default=20)

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Collected:
        averaged = super().enter(posterior, shared, left, tick)
        rows = jax.tree.map(lambda leaf: jnp.zeros((self.rank, *leaf.shape), leaf.dtype), averaged.mean)
        return _extended(averaged, squares=averaged.mean, deviations=rows)

    def fit(self, posterior: Posterior, shared: None, chain: Collected) -> Gaussian:
        kept = jnp.minimum(chain.count, self.rank)
        mean = posterior.with_statistics({**chain.variables, "params": chain.mean})
        diagonal = jax.tree.map(lambda s: s / (2 * chain.count), chain.squares)
        factors = jax.tree.map(lambda rows: rows / jnp.sqrt(2 * (kept - 1)), chain.deviations)
        return Gaussian(mean, {"params": diagonal}, {"params": factors})


def _extended(averaged: Averaged, **more: Any) -> Collected:
    """An average with the other quantities that are collected."""
    own = {field.name: getattr(averaged, field.name) for field in fields(Averaged)}
    return Collected(**own, **more)
