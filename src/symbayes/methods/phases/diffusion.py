"""Langevin dynamics with mini-batches, with or without a momentum.

``U(w)`` is minus the temperature ``T`` times the log density, estimated from a mini-batch.  With ``N``
examples, the rate ``e``, which is the learning rate divided by ``N``, and a momentum ``m``, every step is

    v <- m v - e G grad U(w) + N(0, 2 (1 - m) e G T),   w <- w + v

There is no accept step: at a finite rate the draws follow a distribution near the posterior, not the
posterior itself.  For a Gaussian with precision ``A`` (of the log density), gradients over all data and
``G = I``, that distribution has the mean of the posterior and the covariance
``(A (I - e T A / (2 (1 + m))))^-1``.  A unit is an epoch, with its own order of examples.

The preconditioner ``G`` is one, or as in RMSprop: with ``r`` the root of a running mean of squared
gradients, ``r'`` its mean over all weights and ``l = 0.1``,

    G = (1 + l) r' / (r + l r')

Each chain has its own, adapted during burn-in and then frozen, since a changing one needs a correction term.

The rate is constant, or falls with the epoch ``t`` of the run as ``(1 + t / t0)^-0.55``, or goes through
cycles of ``c`` epochs as ``(1 + cos(pi t / c)) / 2``.  The first part of a cycle has no noise; draws come
from the rest.

References: Welling & Teh (2011), Bayesian learning via stochastic gradient Langevin dynamics; Chen, Fox &
Guestrin (2014), Stochastic gradient Hamiltonian Monte Carlo; Li et al. (2016), Preconditioned stochastic
gradient Langevin dynamics; Zhang et al. (2020), Cyclical stochastic gradient MCMC.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine.phase import Left, Phase, Tick, phase, static
from symbayes.methods.phases.energies import measured
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree

Schedule = Literal["constant", "decaying", "cyclical"]

POWER = 0.55
"""Exponent of a decaying rate: sums of rates must diverge, sums of their squares converge."""

MEMORY, FLOOR = 0.99, 0.1
"""Decay of the running mean of squared gradients, and the term that is added to its root, in units of the
mean root."""

NOISE = 1
"""Stream of the noise, apart from that of the network."""


@pytree
@dataclass(frozen=True)
class Diffusing:
    """A chain: its variables and velocity, the running mean of squared gradients, and the epoch's losses.

    `velocity` is None without a momentum, and `squares` without a preconditioner.
    """

    variables: Any
    velocity: Any
    squares: Any
    loss: Any


@phase
class Diffusion(Phase):
    """Epochs of stochastic-gradient Langevin dynamics.

    Attributes:
        units: epochs.
        learning_rate: learning rate for the mean loss per example.
        momentum: share of the velocity that a step keeps; None for none.
        first: epochs before this phase, which count for the schedule.
        decay: epochs after which a decaying rate begins to fall.
        cycle: epochs in a cycle.
        exploring: epochs at the beginning of a cycle without noise.
        adapting: whether the preconditioner still changes.
        thin: epochs from one draw to the next; 0 keeps none.
        batch: examples in a mini-batch.
        schedule: schedule of the rate.
        preconditioned: whether there is a preconditioner.
    """

    open_ended: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ("loss", "rate")

    units: int
    learning_rate: Any
    momentum: Any
    first: Any
    decay: Any
    cycle: Any
    exploring: Any
    adapting: Any
    thin: int
    batch: int | None = static()
    schedule: Schedule = static()
    preconditioned: bool = static()

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Diffusing:
        if isinstance(left.chain, Diffusing):
            return left.chain
        zero = jax.tree.map(jnp.zeros_like, left.variables["params"])
        return Diffusing(
            left.variables,
            None if self.momentum is None else zero,
            zero if self.preconditioned else None,
            jnp.zeros(()),
        )

    def step(self, posterior: Posterior, shared: None, flight: Diffusing, tick: Tick) -> Diffusing:
        params = flight.variables["params"]
        gradient, log_density, stats = posterior.minibatch_gradient(flight.variables, tick.rows, tick.key)
        value = -posterior.temperature * log_density
        gradient = jax.tree.map(lambda g: -posterior.temperature * g, gradient)
        squares = self._squares(posterior, flight.squares, gradient, tick)
        rates = self._rates(posterior, squares, params, tick)
        keeps = 0.0 if self.momentum is None else self.momentum
        heat = 2 * (1 - keeps) * posterior.temperature * self._noisy(tick)
        noise = trees.random_normal(jax.random.fold_in(tick.key, NOISE), params)
        push = jax.tree.map(lambda e, g, z: jnp.sqrt(heat * e) * z - e * g, rates, gradient, noise)
        if flight.velocity is not None:
            push = jax.tree.map(lambda v, change: keeps * v + change, flight.velocity, push)
        params = jax.tree.map(jnp.add, params, push)
        velocity = None if flight.velocity is None else push
        loss = flight.loss + value / posterior.size
        return Diffusing({"params": params, "stats": stats}, velocity, squares, loss)

    def _rates(self, posterior: Posterior, squares: Any, params: Any, tick: Tick) -> Any:
        """The rate of every weight."""
        rate = self._rate(tick) / posterior.size
        if squares is None:
            return jax.tree.map(lambda _: rate, params)
        roots = jax.tree.map(jnp.sqrt, squares)
        mean = jax.tree.reduce(jnp.add, jax.tree.map(jnp.sum, roots)) / trees.size(roots)
        mean = jnp.maximum(mean, jnp.finfo(mean.dtype).tiny)
        return jax.tree.map(lambda root: rate * (1 + FLOOR) * mean / (root + FLOOR * mean), roots)

    def _squares(self, posterior: Posterior, squares: Any, gradient: Any, tick: Tick) -> Any:
        """The running mean of squared gradients per example; that of the first step is its square."""
        if squares is None:
            return None
        begins = (self.first == 0) & (tick.unit == 0) & (tick.step == 0)
        forget = jnp.where(begins, 1.0, jnp.where(self.adapting, 1 - MEMORY, 0.0))
        return jax.tree.map(lambda s, g: s + forget * ((g / posterior.size) ** 2 - s), squares, gradient)

    def _rate(self, tick: Tick) -> jax.Array:
        """The learning rate of this epoch."""
        epoch = (self.first + tick.unit).astype(jnp.float32)
        if self.schedule == "decaying":
            return self.learning_rate * (1 + epoch / self.decay) ** -POWER
        if self.schedule == "cyclical":
            place = (tick.unit % self.cycle) / self.cycle
            return self.learning_rate * (1 + jnp.cos(jnp.pi * jnp.where(self.thin > 0, place, 0.0))) / 2
        return jnp.float32(self.learning_rate)

    def _noisy(self, tick: Tick) -> jax.Array | float:
        """Whether there is noise: not while a cycle explores."""
        if self.schedule != "cyclical":
            return 1.0
        return ((tick.unit % self.cycle >= self.exploring) | (self.thin == 0)).astype(jnp.float32)

    def close(
        self, posterior: Posterior, shared: None, chain: Diffusing, flight: Diffusing, tick: Tick
    ) -> tuple[Diffusing, dict[str, jax.Array], None]:
        statistics = {"loss": flight.loss / self.steps(posterior, None), "rate": self._rate(tick)}
        ended = Diffusing(flight.variables, flight.velocity, flight.squares, jnp.zeros(()))
        return ended, statistics, None

    def kept(self, unit: int) -> bool:
        if not self.thin:
            return False
        if self.schedule != "cyclical":
            return (unit + 1) % self.thin == 0
        place = unit % self.cycle
        return place >= self.exploring and (self.cycle - 1 - place) % self.thin == 0

    def draw(
        self, posterior: Posterior, shared: None, chain: Diffusing, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        return chain.variables, measured(posterior, chain.variables)


def epochs_for(draws: int, thin: int, schedule: Schedule, cycle: int, exploring: int) -> int:
    """The number of epochs after burn-in that give this many draws."""
    if schedule != "cyclical":
        return draws * thin
    places = [place for place in range(exploring, cycle) if (cycle - 1 - place) % thin == 0]
    whole, rest = divmod(draws - 1, len(places))
    return whole * cycle + places[rest] + 1


def explored(cycle: int, exploration: float) -> int:
    """The number of epochs of a cycle without noise; the last epoch always has noise."""
    return min(cycle - 1, math.ceil(exploration * cycle - 1e-9))


def diffusions(method: Any, momentum: float | None) -> tuple[Diffusion, Diffusion]:
    """Burn-in and draws of a method with the fields of SGLD."""
    exploring = explored(method.cycle, method.exploration)
    burn_in = Diffusion(
        units=method.burn_in,
        learning_rate=method.learning_rate,
        momentum=momentum,
        first=0,
        decay=method.decay,
        cycle=method.cycle,
        exploring=exploring,
        adapting=True,
        thin=0,
        batch=method.batch,
        schedule=method.schedule,
        preconditioned=method.precondition,
    )
    epochs = epochs_for(method.draws, method.thin, method.schedule, method.cycle, exploring)
    drawing = dataclasses.replace(
        burn_in, units=epochs, first=method.burn_in, adapting=False, thin=method.thin
    )
    return burn_in, drawing
