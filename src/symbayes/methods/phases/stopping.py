"""Training that stops early, by the loss on validation data.

At the end of every epoch the mean negative log likelihood of the validation data is measured, in evaluation
mode; of members that share weights, the mean over members.  A chain that has not reached a lower one for
`patience` epochs stops: it takes no more steps while others continue.  The result of a chain, stopped or not,
is what it was where the validation loss was lowest.

Reference: Prechelt (1998), Early stopping - but when?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes.engine.phase import Left, Phase, Tick, phase
from symbayes.methods.phases.sharing import Together
from symbayes.methods.phases.train import Train
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Watched:
    """A chain in training, its result at its best so far, that loss, and the number of epochs since then.

    `mean` is the loss of the last epoch in which it was trained.
    """

    chain: Any
    best: dict[str, Any]
    lowest: Any
    since: Any
    mean: Any

    @property
    def variables(self) -> Any:
        return self.chain.variables


@phase
class Stopped(Phase):
    """Training that stops early by the loss on validation data.

    Attributes:
        by: the training.
        validation: examples in chunks.
        patience: epochs without a lower loss on them after which a chain stops.
    """

    shown: ClassVar[tuple[str, ...]] = ("loss", "validation")

    by: Train | Together
    validation: Any = None
    patience: Any = 0

    @property
    def units(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.by.units

    @property
    def batch(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.by.batch

    def gradients_per_step(self, posterior: Posterior) -> float:
        return self.by.gradients_per_step(posterior)

    def kept(self, unit: int) -> bool:
        return self.by.kept(unit)

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Watched:
        chain: Any = self.by.enter(posterior, shared, left, tick)
        lowest = self.by.validation_loss(posterior, chain, self.validation)
        return Watched(chain, self._result(chain), lowest, since=jnp.int32(0), mean=jnp.zeros(()))

    def _result(self, chain: Any) -> dict[str, Any]:
        return {name: getattr(chain, name) for name in self.by.result}

    def step(self, posterior: Posterior, shared: None, flight: Watched, tick: Tick) -> Watched:
        return replace(flight, chain=self.by.step(posterior, shared, flight.chain, tick))

    def going(self, flight: Watched) -> jax.Array:
        return flight.since < self.patience

    def close(
        self, posterior: Posterior, shared: None, chain: Watched, flight: Watched, tick: Tick
    ) -> tuple[Watched, dict[str, jax.Array], None]:
        going = self.going(flight)
        ended, statistics, _ = self.by.close(posterior, shared, chain.chain, flight.chain, tick)
        # What a chain that has stopped would add to an average does not count.
        ended = _either(going, ended, flight.chain)
        mean = jnp.where(going, statistics["loss"], flight.mean)
        found = self.by.validation_loss(posterior, ended, self.validation)
        better = found < flight.lowest
        best, lowest = _either(better, (self._result(ended), found), (flight.best, flight.lowest))
        since = jnp.where(better, 0, flight.since + 1)
        done = (since >= self.patience) | (tick.unit == self.units - 1)
        ended = replace(ended, **_either(done, best, self._result(ended)))
        statistics = {"loss": mean, "validation": jnp.where(going, found, flight.lowest)}
        return Watched(ended, best, lowest, since, mean), statistics, None

    def draw(
        self, posterior: Posterior, shared: None, chain: Watched, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        return self.by.draw(posterior, shared, chain.chain, tick)

    def leave(self, chain: Watched) -> Any:
        return chain.chain


def _either(condition: jax.Array, first: Any, second: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), first, second)
