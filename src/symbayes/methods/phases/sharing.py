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
from symbayes.networks import Network
from symbayes.posterior import Posterior
from symbayes.posterior.numerics import Chunks
from symbayes.pytrees import pytree
from symbayes.trees import Array

PASS = 1 / 3
"""Cost of the statistics of a draw: a forward pass, in gradients."""


@dataclass(frozen=True)
class InTraining:
    """A network in training, as a function of parameters, and statistics that are fixed."""

    network: Network

    def __call__(self, arguments: Any, x: jax.Array, key: jax.Array) -> Any:
        params, fixed = arguments
        return self.network.apply_train({**fixed, "params": params}, x, key)


class Family(abc.ABC):
    """How the weights of members are made.  Fields are names and sizes only, since they are static."""

    cost: float = 1.0
    """Of a gradient of one member, relative to that of the network."""

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

    def in_training(self, network: Network) -> InTraining:
        """What a member is computed by, from the part of its variables that it needs."""
        return InTraining(network)

    def parts(self, weights: Any, shared: Any, own: Any, fixed: Any) -> Any:
        """What all members are computed from; by default all their weights."""
        return weights

    def part_of(self, stats: Any, fixed: Any) -> Any:
        """The statistics that belong to them."""
        return stats

    def with_part(self, part: Any, stats: Any, fixed: Any) -> Any:
        """All statistics of a member, of which such a part is new."""
        return part


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
    result: ClassVar[tuple[str, ...]] = ("variables", "own", "stats")
    """What of a chain is the result of its training."""

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
        return self.members * self.family.cost * super().gradients_per_step(posterior)

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Sharing:
        params = left.variables["params"]
        own_key, fixed_key = jax.random.split(tick.key)
        own = self.family.own(params, self.members, self.amount, own_key)
        fixed = self.family.fixed(params, self.members, self.amount, fixed_key)
        stats = repeated(left.variables["stats"], self.members)
        memory = self.by.optimiser().init((params, own))
        return Sharing(left.variables, own, stats, fixed, memory, jnp.zeros(()))

    def step(self, posterior: Posterior, shared: None, flight: Sharing, tick: Tick) -> Sharing:
        family, fixed = self.family, flight.fixed
        moving = flight.variables["params"], flight.own

        def members(params: Any, own: Any) -> tuple[Any, Any]:
            weights = family.weights(params, own, fixed)
            return family.parts(weights, params, own, fixed), weights

        (parts, weights), pull = jax.vjp(members, *moving)
        outputs = family.in_training(posterior.network)

        def likelihood(params: Any, stats: Any, fixed: Any, key: jax.Array) -> tuple[Any, jax.Array, Any]:
            own = {"stats": family.part_of(stats, fixed)}
            slope, value, new = posterior.likelihood_gradient(outputs, params, own, tick.rows, key)
            return slope, value, family.with_part(new, stats, fixed)

        keys = jax.random.split(tick.key, self.members)
        slopes, values, stats = jax.vmap(likelihood)(parts, flight.stats, fixed, keys)
        priors, by_prior = jax.vmap(jax.value_and_grad(posterior.prior.log_density))(weights)
        unit = -posterior.temperature / posterior.size
        share = unit / self.members
        slopes = jax.tree.map(lambda g: share * g, slopes)
        by_prior = jax.tree.map(lambda g: posterior.prior_weight * share * g, by_prior)
        if self.by.optimizer == "adamw":
            none = jax.tree.map(jnp.zeros_like, (slopes, by_prior))
            gradient, decay = pull((slopes, none[1])), pull((none[0], by_prior))
        else:
            gradient, decay = pull((slopes, by_prior)), None
        (params, own), memory = self.by.moved(posterior, moving, gradient, decay, flight.memory, tick)
        loss = flight.loss + unit * jnp.mean(values + posterior.prior_weight * priors)
        variables = {**flight.variables, "params": params}
        return Sharing(variables, own, stats, fixed, memory, loss)

    def close(
        self, posterior: Posterior, shared: None, chain: Sharing, flight: Sharing, tick: Tick
    ) -> tuple[Sharing, dict[str, jax.Array], None]:
        ended = dataclasses.replace(flight, loss=jnp.zeros(()))
        return ended, {"loss": flight.loss / self.steps(posterior, None)}, None

    def networks(self, posterior: Posterior, chain: Sharing) -> Any:
        """The variables of all members."""
        params = self.family.weights(chain.variables["params"], chain.own, chain.fixed)
        return {"params": params, "stats": chain.stats}

    def validation_loss(self, posterior: Posterior, chain: Sharing, examples: Chunks) -> jax.Array:
        """The mean loss of other examples, over members too."""
        losses = jax.vmap(lambda variables: posterior.mean_loss(variables, examples))
        return jnp.mean(losses(self.networks(posterior, chain)))


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


def along(vector: Array, axis: int, ndim: int) -> Array:
    """A vector along one of `ndim` axes."""
    return vector.reshape([-1 if place == axis else 1 for place in range(ndim)])
