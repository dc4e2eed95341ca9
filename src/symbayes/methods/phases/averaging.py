"""Averages of the weights along training.

With ``w`` the weights after step or epoch ``n``, their average ``w'`` follows

    w' <- w' + a_n (w - w'),    a_n = 1 / n                  for equal weights
                                a_n = (1 - d) / (1 - d^n)    for weights that fall by d into the past

The second form is an exponential moving average without its bias towards the beginning.  The average does not
influence training.  The statistics of normalisers are not averaged, but computed again for the averaged
weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes.engine.phase import Left, Tick, phase, static
from symbayes.methods.phases.energies import measured
from symbayes.methods.phases.train import Member, Train
from symbayes.posterior import Posterior
from symbayes.posterior.numerics import Chunks
from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Averaged(Member):
    """A network in training, the average of its weights, and the number of weights in it."""

    mean: Any
    count: Any

    def taken(self, decay: Any) -> Averaged:
        """The same with its current weights added to the average; `decay` is None for equal weights."""
        count = self.count + 1
        share = 1 / count if decay is None else (1 - decay) / (1 - decay**count)
        mean = jax.tree.map(lambda old, w: old + share * (w - old), self.mean, self.variables["params"])
        return replace(self, mean=mean, count=count)


@phase
class Averaging(Train):
    """Training with an average of the weights, which is the draw.

    Attributes:
        decay: factor by which the weight of a step in the average falls with each later one; None for equal
            weights.
        every_step: whether the average is updated after every step, or only after every epoch.
    """

    result: ClassVar[tuple[str, ...]] = ("variables", "mean", "count")

    decay: Any = None
    every_step: bool = static(default=False)

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Averaged:
        member = super().enter(posterior, shared, left, tick)
        zero = jax.tree.map(jnp.zeros_like, left.variables["params"])
        return Averaged(member.variables, member.memory, member.loss, zero, jnp.zeros(()))

    def step(self, posterior: Posterior, shared: None, flight: Averaged, tick: Tick) -> Averaged:
        moved = super().step(posterior, shared, flight, tick)
        return moved.taken(self.decay) if self.every_step else moved

    def close(
        self, posterior: Posterior, shared: None, chain: Averaged, flight: Averaged, tick: Tick
    ) -> tuple[Averaged, dict[str, jax.Array], None]:
        ended, statistics, evidence = super().close(posterior, shared, chain, flight, tick)
        return ended if self.every_step else ended.taken(self.decay), statistics, evidence

    def validation_loss(self, posterior: Posterior, chain: Averaged, examples: Chunks) -> jax.Array:
        loss = posterior.mean_loss(self._averages(posterior, chain), examples)
        # The average of nothing is worse than any other.
        return jnp.where(chain.count > 0, loss, jnp.finfo(loss.dtype).max)

    def draw(
        self, posterior: Posterior, shared: None, chain: Averaged, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        variables = self._averages(posterior, chain)
        return variables, measured(posterior, variables)

    def _averages(self, posterior: Posterior, chain: Averaged) -> Any:
        return posterior.with_statistics({**chain.variables, "params": chain.mean})
