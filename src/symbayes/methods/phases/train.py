"""Training by mini-batches to a maximum of the posterior density.

Each chain minimises, by mini-batches of B out of N examples,

    - 1/B sum_{i in batch} log p(y_i | w) - 1/N log p(w)

with the posterior's own likelihood and prior.  A unit is an epoch, in an order of its own; what is left of it
is dropped, another part each time.

Reference: Kingma & Ba (2015), Adam.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import optax

from symbayes.engine.phase import Left, Phase, Tick, phase, static
from symbayes.methods.phases.energies import measured
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree

Optimizer = Literal["adam", "sgd"]
Schedule = Literal["constant", "cosine"]

OPTIMIZERS = {"adam": optax.scale_by_adam, "sgd": lambda: optax.trace(decay=0.9)}


@pytree
@dataclass(frozen=True)
class Member:
    """One network, what its optimiser remembers, and the sum of the losses in this epoch."""

    variables: Any
    memory: Any
    loss: Any


@phase
class Train(Phase):
    """Epochs of mini-batch training; the last one ends in a draw.

    Attributes:
        units: epochs.
        learning_rate: learning rate of the optimiser, for the mean loss per example.
        cosine: whether the learning rate falls to zero along a cosine.
        batch: examples in a mini-batch.
        optimizer: adam, or sgd with momentum 0.9.
    """

    shown: ClassVar[tuple[str, ...]] = ("loss",)

    units: Any
    learning_rate: Any
    cosine: Any
    batch: int | None = static()
    optimizer: Optimizer = static()

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Member:
        memory = OPTIMIZERS[self.optimizer]().init(left.variables["params"])
        return Member(left.variables, memory, jnp.zeros(()))

    def step(self, posterior: Posterior, shared: None, flight: Member, tick: Tick) -> Member:
        params = flight.variables["params"]
        gradient, log_density, stats = posterior.minibatch_gradient(flight.variables, tick.rows, tick.key)
        scale = -posterior.temperature / posterior.size
        value, gradient = scale * log_density, jax.tree.map(lambda g: scale * g, gradient)
        direction, memory = OPTIMIZERS[self.optimizer]().update(gradient, flight.memory, params)
        rate = self.learning_rate * self._fall(posterior, tick)
        params = jax.tree.map(lambda w, d: w - rate * d, params, direction)
        return Member({"params": params, "stats": stats}, memory, flight.loss + value)

    def _fall(self, posterior: Posterior, tick: Tick) -> jax.Array:
        """What is left of the learning rate."""
        steps = self.steps(posterior, None)
        done = (tick.unit * steps + tick.step) / (self.units * steps)
        return jnp.where(self.cosine, (1 + jnp.cos(jnp.pi * done)) / 2, 1.0)

    def close(
        self, posterior: Posterior, shared: None, chain: Member, flight: Member, tick: Tick
    ) -> tuple[Member, dict[str, jax.Array], None]:
        mean = flight.loss / self.steps(posterior, None)
        return Member(flight.variables, flight.memory, jnp.zeros(())), {"loss": mean}, None

    def kept(self, unit: int) -> bool:
        return unit == self.units - 1

    def draw(
        self, posterior: Posterior, shared: None, chain: Member, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        return chain.variables, measured(posterior, chain.variables)
