"""Play methods whose every step can be followed by hand: whole numbers, counted exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

import symbayes as sb
from symbayes.distributions import Gaussian
from symbayes.engine import Left, Method, Phase, Tick, method, phase, static
from symbayes.methods.phases import Sample
from symbayes.pytrees import pytree

LENGTH = 7
"""Steps in a unit."""
KEPT = (1, 2, 6, 9, 10)
"""Units that end in draws."""


@pytree
@dataclass(frozen=True)
class Walker:
    """Where a chain is, how many steps it takes at most, how many it took, and which ones."""

    variables: Any
    limit: Any
    count: Any
    trail: Any


def trail_of(steps: list[tuple[int, int]]) -> int:
    """What `Walk` makes of these (unit, step) pairs."""
    trail = 0
    for unit, step in steps:
        trail = (trail * 31 + unit * 100 + step + 1) % 2**32
    return trail


def plus(variables: Any, number: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf + number, variables)


@phase
class Walk(Phase):
    """Every step adds one to every parameter."""

    shown: ClassVar[tuple[str, ...]] = ("count",)

    units: Any
    length: Any = LENGTH
    kept_at: tuple[int, ...] = static(default=KEPT)

    def enter(self, posterior: sb.Posterior, shared: None, left: Left, tick: Tick) -> Walker:
        limit = jax.random.randint(tick.key, (), 1, 30)
        return Walker(
            plus(jax.tree.map(jnp.zeros_like, left.variables), 0), limit, jnp.int32(0), jnp.uint32(0)
        )

    def steps(self, posterior: sb.Posterior, shared: None) -> Any:
        return self.length

    def step(self, posterior: sb.Posterior, shared: None, flight: Walker, tick: Tick) -> Walker:
        trail = flight.trail * 31 + jnp.uint32(tick.unit * 100 + tick.step + 1)
        return Walker(plus(flight.variables, 1), flight.limit, flight.count + 1, trail)

    def close(
        self, posterior: sb.Posterior, shared: None, chain: Walker, flight: Walker, tick: Tick
    ) -> tuple[Walker, dict[str, jax.Array], None]:
        return flight, {"count": flight.count, "trail": flight.trail, "limit": flight.limit}, None

    def kept(self, unit: int) -> bool:
        return unit in self.kept_at


@phase
class Measured(Walk):
    """Draws that are another thing than where the chain is."""

    def draw(
        self, posterior: sb.Posterior, shared: None, chain: Walker, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        return plus(chain.variables, 1000), {"unit": tick.unit, "sign": jax.random.bits(tick.key)}


@phase
class Stopping(Walk):
    """A chain that has taken its steps stops for good."""

    def going(self, flight: Walker) -> Any:
        return flight.count < flight.limit


@phase
class Turning(Walk):
    """Every unit is opened with another limit, at which it ends."""

    def open(self, posterior: sb.Posterior, shared: None, chain: Walker, tick: Tick) -> Walker:
        limit = jax.random.randint(tick.key, (), 0, LENGTH + 3)
        return Walker(chain.variables, limit, jnp.int32(0), jnp.uint32(0))

    def going(self, flight: Walker) -> Any:
        return flight.count < flight.limit


@phase
class Fit(Walk):
    """A walk of which every chain remembers where it ended, moved by its limit."""

    def fit(self, posterior: sb.Posterior, shared: None, chain: Walker) -> Gaussian:
        location = plus(chain.variables, 100.0 * chain.limit)
        weights = {"params": location["params"]}
        none = jax.tree.map(lambda leaf: jnp.zeros((0, *leaf.shape)), weights)
        return Gaussian(location, jax.tree.map(jnp.ones_like, weights), none)


@method
class Play(Method):
    """Some of the phases above."""

    name: ClassVar[str] = "play"
    remedy: ClassVar[str] = "play another game"
    extends: ClassVar[str | None] = "units"

    which: str
    units: int = 12
    chains: int = 3

    def phases(self, posterior: sb.Posterior) -> tuple[Phase, ...]:
        if self.which == "fit and sample":
            return Fit(3, kept_at=()), Sample(self.units)
        if self.which == "fit, walk and sample":
            return Fit(3, kept_at=()), Walk(2, kept_at=()), Sample(self.units)
        kinds = {"walk": Walk, "measured": Measured, "stopping": Stopping, "turning": Turning}
        return (kinds[self.which](self.units),)


def unit_keys(seed: int, chains: int, unit: int) -> list[jax.Array]:
    """The keys of a unit, counted through the whole run, of every chain."""
    key = jax.random.key(seed)
    return [jax.random.fold_in(jax.random.fold_in(key, chain), unit) for chain in range(chains)]


def bias(draws: sb.Draws) -> np.ndarray:
    """A number of every draw of the linear regression, (chain, draw)."""
    return draws.variables["params"]["output"]["bias"][..., 0]
