"""Training that stops early, by the loss on validation data.

At the end of every epoch the mean negative log likelihood of the validation data is measured, in evaluation
mode.  A chain that has not reached a lower one for `patience` epochs stops: it takes no more steps while
others continue.  The result of a chain, stopped or not, is the variables with the lowest validation loss.

Reference: Prechelt (1998), Early stopping - but when?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes.engine.phase import Left, Tick, phase
from symbayes.methods.phases.train import Member, Train
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Watched(Member):
    """A network in training, its best variables so far, and the number of epochs since then.

    `mean` is the loss of the last epoch in which it was trained.
    """

    best: Any
    lowest: Any
    since: Any
    mean: Any


@phase
class StoppedTraining(Train):
    """Training that stops early by the loss on validation data.

    Attributes:
        validation: examples in chunks.
        patience: epochs without a lower loss on them after which a chain stops.
    """

    shown: ClassVar[tuple[str, ...]] = ("loss", "validation")

    validation: Any = None
    patience: Any = 0

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Watched:
        begun = super().enter(posterior, shared, left, tick)
        lowest = posterior.mean_loss(begun.variables, self.validation)
        own = (begun.variables, begun.memory, begun.loss)
        return Watched(*own, best=begun.variables, lowest=lowest, since=jnp.int32(0), mean=jnp.zeros(()))

    def going(self, flight: Watched) -> jax.Array:
        return flight.since < self.patience

    def close(
        self, posterior: Posterior, shared: None, chain: Watched, flight: Watched, tick: Tick
    ) -> tuple[Watched, dict[str, jax.Array], None]:
        ended, statistics, _ = super().close(posterior, shared, chain, flight, tick)
        going = self.going(flight)
        mean = jnp.where(going, statistics["loss"], flight.mean)
        found = posterior.mean_loss(flight.variables, self.validation)
        better = found < flight.lowest
        best, lowest = _either(better, (flight.variables, found), (flight.best, flight.lowest))
        since = jnp.where(better, 0, flight.since + 1)
        done = (since >= self.patience) | (tick.unit == self.units - 1)
        variables = _either(done, best, flight.variables)
        ended = replace(ended, variables=variables, best=best, lowest=lowest, since=since, mean=mean)
        return ended, {"loss": mean, "validation": jnp.where(going, found, flight.lowest)}, None


def _either(condition: jax.Array, first: Any, second: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), first, second)
