"""Networks that share weights, trained together.

The weights of member ``m`` are a function of what all members share, what is its own, and what is fixed:

    w_m = f(shared, own_m, fixed_m)

All ``M`` members minimise, by mini-batches of ``B`` out of ``N`` examples, the mean over members of the loss
of training,

    1/M sum_m [ - 1/B sum_{i in batch} log p(y_i | w_m) - 1/N log p(w_m) ]

so prior and likelihood are those of each member's own weights.  Every member has its own statistics of
normalisers.  After training, members are ordinary networks: a chain has ``M`` draws.  A unit is an epoch; its
statistic is `loss`, the mean over members and mini-batches.

Reference: Wen, Tran & Ba (2020), BatchEnsemble: an alternative approach to efficient ensemble and lifelong
learning.
"""

from __future__ import annotations

import abc
import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine.phase import Left, Phase, Tick, phase, static
from symbayes.methods.phases.energies import measured
from symbayes.methods.phases.train import Train
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree

PASS = 1 / 3
"""Cost of the statistics of a draw: a forward pass, in gradients."""


class Family(abc.ABC):
    """How the weights of members are made.  Fields are names and sizes only, since they are static."""

    @abc.abstractmethod
    def own(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        """Initial values of what is trained for each member, with a leading axis over members."""

    @abc.abstractmethod
    def fixed(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        """What each member has that is not trained, with a leading axis over members."""

    @abc.abstractmethod
    def member(self, shared: Any, own: Any, fixed: Any) -> Any:
        """The weights of one member."""

    def weights(self, shared: Any, own: Any, fixed: Any) -> Any:
        """The weights of all members."""
        return jax.vmap(self.member, in_axes=(None, 0, 0))(shared, own, fixed)


@pytree
@dataclass(frozen=True)
class Sharing:
    """Shared variables, each member's own weights, statistics and fixed values, the state of the optimiser,
    and the epoch's losses."""

    variables: Any
    own: Any
    stats: Any
    fixed: Any
    memory: Any
    loss: Any


@phase
class Together(Phase):
    """Epochs of training of members that share weights.

    Attributes:
        by: training whose epochs, mini-batches, learning rate and optimiser are used.
        amount: a number whose meaning the family defines.
        members: number of members.
        family: how the weights of members are made.
    """

    shown: ClassVar[tuple[str, ...]] = ("loss",)

    by: Train
    amount: Any
    members: int = static()
    family: Family = static()

    @property
    def units(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.by.units

    @property
    def batch(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.by.batch

    def gradients_per_step(self, posterior: Posterior) -> float:
        return self.members * super().gradients_per_step(posterior)

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Sharing:
        params = left.variables["params"]
        own_key, fixed_key = jax.random.split(tick.key)
        own = self.family.own(params, self.members, self.amount, own_key)
        fixed = self.family.fixed(params, self.members, self.amount, fixed_key)
        stats = repeated(left.variables["stats"], self.members)
        memory = self.by.optimiser().init((params, own))
        return Sharing(left.variables, own, stats, fixed, memory, jnp.zeros(()))

    def step(self, posterior: Posterior, shared: None, flight: Sharing, tick: Tick) -> Sharing:
        moving = flight.variables["params"], flight.own
        weights, pull = jax.vjp(lambda q: self.family.weights(q[0], q[1], flight.fixed), moving)

        def loss(params: Any, stats: Any, key: jax.Array) -> Any:
            own_tick = dataclasses.replace(tick, key=key)
            return self.by.loss(posterior, {"params": params, "stats": stats}, own_tick)

        keys = jax.random.split(tick.key, self.members)
        values, slopes, decays, stats = jax.vmap(loss)(weights, flight.stats, keys)

        def pulled(slopes: Any) -> Any:
            return pull(jax.tree.map(lambda g: g / self.members, slopes))[0]

        decay = None if decays is None else pulled(decays)
        (params, own), memory = self.by.moved(posterior, moving, pulled(slopes), decay, flight.memory, tick)
        variables = {**flight.variables, "params": params}
        return Sharing(variables, own, stats, flight.fixed, memory, flight.loss + jnp.mean(values))

    def close(
        self, posterior: Posterior, shared: None, chain: Sharing, flight: Sharing, tick: Tick
    ) -> tuple[Sharing, dict[str, jax.Array], None]:
        ended = dataclasses.replace(flight, loss=jnp.zeros(()))
        return ended, {"loss": flight.loss / self.steps(posterior, None)}, None


@pytree
@dataclass(frozen=True)
class Trained:
    """The place of the chain, and the variables of all members."""

    variables: Any
    members: Any


@phase
class Members(Phase):
    """The members, one after the other; a unit is one of them.

    Attributes:
        units: number of members.
        family: how the weights of members are made.
        statistics: whether those of normalisers are computed again for every member.
    """

    units: int
    family: Family = static()
    statistics: bool = static(default=False)

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Trained:
        trained: Sharing = left.chain
        params = self.family.weights(trained.variables["params"], trained.own, trained.fixed)
        return Trained(left.variables, {"params": params, "stats": trained.stats})

    def gradients_per_step(self, posterior: Posterior) -> float:
        return 2 * PASS if self.statistics else PASS

    def kept(self, unit: int) -> bool:
        return True

    def draw(
        self, posterior: Posterior, shared: None, chain: Trained, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        variables = trees.index(chain.members, tick.unit)
        if self.statistics:
            variables = posterior.with_statistics(variables)
        return variables, measured(posterior, variables)


def repeated(tree: Any, members: int) -> Any:
    """The same for every member."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (members, *leaf.shape)), tree)
