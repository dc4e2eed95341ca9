"""Training by mini-batches to a maximum of the posterior density.

Each chain minimises, by mini-batches of ``B`` out of ``N`` examples,

    - 1/B sum_{i in batch} log p(y_i | w) - 1/N log p(w)

with the posterior's own likelihood and prior.  The second term is weight decay: for a prior ``N(0, s^2)`` its
gradient is ``w / (N s^2)``.  The optimiser treats it like the first term, except for AdamW, which does not
rescale it: with ``A`` the direction of Adam for the first term alone, a step is

    w <- w - rate (A - 1/N grad log p(w))

The norm of the gradient is limited for all weights together, before the optimiser.  A unit is an epoch, with
its own order of examples.  Examples that do not fill the last mini-batch are left out, different ones in each
epoch.

References: Kingma & Ba (2015), Adam; Loshchilov & Hutter (2019), Decoupled weight decay regularization;
Sutskever et al. (2013), On the importance of initialization and momentum in deep learning (Nesterov's).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import optax

from symbayes.engine.phase import Chain, Flight, Left, Phase, Tick, phase, static
from symbayes.methods.phases.energies import measured
from symbayes.methods.phases.schedules import Rate
from symbayes.posterior import Posterior
from symbayes.posterior.numerics import Chunks
from symbayes.pytrees import pytree

Optimizer = Literal["adam", "adamw", "sgd", "nesterov"]


@pytree
@dataclass(frozen=True)
class Member:
    """One network, the state of its optimiser, and the sum of the losses in this epoch."""

    variables: Any
    memory: Any
    loss: Any


@phase
class Train(Phase):
    """Epochs of mini-batch training; some of the last may end in a draw.

    Attributes:
        units: epochs.
        rate: learning rate of every step, for the mean loss per example.
        momentum: share of the velocity that a step of sgd or nesterov keeps.
        clip: largest norm of the gradient of all weights; None for no limit.
        draws: number of draws, the last of them at the end of the last epoch; 0 for none.
        thin: epochs from one draw to the next.
        grows: whether adding epochs leaves the earlier ones unchanged, as with cycles of fixed length.
        batch: examples in a mini-batch.
        optimizer: adam, adamw, sgd with momentum, or nesterov.
    """

    shown: ClassVar[tuple[str, ...]] = ("loss",)
    result: ClassVar[tuple[str, ...]] = ("variables",)
    """What of a chain is the result of its training."""

    units: Any
    rate: Rate
    momentum: Any
    clip: Any
    draws: int
    thin: int
    grows: bool
    batch: int | None = static()
    optimizer: Optimizer = static()

    @property
    def open_ended(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        # Not of the class: with and without cycles it is one program.
        return self.grows

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Member:
        return Member(left.variables, self._memory(left), jnp.zeros(()))

    def _memory(self, left: Left) -> Any:
        """The state of the optimiser of the phase before, if that also trained; else an initial state."""
        if isinstance(left.chain, Member):
            return left.chain.memory
        return self.optimiser().init(left.variables["params"])

    def optimiser(self) -> optax.GradientTransformation:
        """The optimiser without the learning rate."""
        if self.optimizer in ("sgd", "nesterov"):
            return optax.trace(decay=self.momentum, nesterov=self.optimizer == "nesterov")
        return optax.scale_by_adam()

    def step(self, posterior: Posterior, shared: None, flight: Flight, tick: Tick) -> Flight:
        value, gradient, decay, stats = self.loss(posterior, flight.variables, tick)
        params, memory = self.moved(
            posterior, flight.variables["params"], gradient, decay, flight.memory, tick
        )
        variables = {"params": params, "stats": stats}
        return replace(flight, variables=variables, memory=memory, loss=flight.loss + value)

    def moved(
        self, posterior: Posterior, params: Any, gradient: Any, decay: Any, memory: Any, tick: Tick
    ) -> tuple[Any, Any]:
        """Parameters and state after a step of the optimiser along the gradient; it does not rescale
        `decay`."""
        if self.clip is not None:
            gradient = optax.clip_by_global_norm(self.clip).update(gradient, optax.EmptyState())[0]
        direction, memory = self.optimiser().update(gradient, memory, params)
        if decay is not None:
            direction = jax.tree.map(jnp.add, direction, decay)
        rate = self.rate.at(tick.unit, tick.step, self.steps(posterior, None))
        return jax.tree.map(lambda w, d: w - rate * d, params, direction), memory

    def taken(self, by_data: Any, by_prior: Any) -> tuple[Any, Any]:
        """Both parts of the gradient as `moved` takes them: as one, but for adamw."""
        if self.optimizer == "adamw":
            return by_data, by_prior
        return jax.tree.map(jnp.add, by_data, by_prior), None

    def loss(self, posterior: Posterior, variables: Any, tick: Tick) -> tuple[jax.Array, Any, Any, Any]:
        """The loss, its gradient, weight decay that is not part of the gradient, and the new statistics."""
        apart = self.optimizer == "adamw"
        scale = -posterior.temperature / posterior.size
        gradient, value, stats = posterior.minibatch_gradient(variables, tick.rows, tick.key, prior=not apart)
        value, gradient = scale * value, jax.tree.map(lambda g: scale * g, gradient)
        if not apart:
            return value, gradient, None, stats
        log_prior, decay = jax.value_and_grad(posterior.prior.log_density)(variables["params"])
        scale = scale * posterior.prior_weight
        return value + scale * log_prior, gradient, jax.tree.map(lambda g: scale * g, decay), stats

    def close(
        self, posterior: Posterior, shared: None, chain: Chain, flight: Flight, tick: Tick
    ) -> tuple[Chain, dict[str, jax.Array], None]:
        mean = flight.loss / self.steps(posterior, None)
        return replace(flight, loss=jnp.zeros(())), {"loss": mean}, None

    def validation_loss(self, posterior: Posterior, chain: Chain, examples: Chunks) -> jax.Array:
        """The mean loss of other examples under the result so far."""
        return posterior.mean_loss(chain.variables, examples)

    def kept(self, unit: int) -> bool:
        before, off = divmod(self.units - 1 - unit, self.thin)
        return off == 0 and before < self.draws

    def draw(
        self, posterior: Posterior, shared: None, chain: Chain, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        return chain.variables, measured(posterior, chain.variables)
