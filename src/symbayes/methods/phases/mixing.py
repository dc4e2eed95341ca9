"""Networks with several inputs and outputs, one pair for each member.

The first layer has a kernel ``V_j``, and the last a kernel and bias ``h_j``, for each of ``M`` members; all
layers between are shared.  In training the network sees ``M`` examples side by side.  Member ``j`` sees those
of the mini-batch in an order ``p_j`` of its own, and has an output ``o_j(x_1, ..., x_M)`` of its own.  The
network minimises

    1/M sum_j [ - 1/B sum_{i in batch} log p(y_{p_j(i)} | o_j(x_{p_1(i)}, ..., x_{p_M(i)})) ] - 1/N log prior

where the prior is the mean over members of that of the shared weights with ``sqrt(M) V_j`` and ``h_j``, so
that ``sum_j V_j`` has the prior of the network's own first kernel.  To predict, all members see the same
input.  Member ``j``, which is a draw, is therefore the ordinary network with first kernel ``sum_j V_j`` and
last layer ``h_j``.  Statistics of normalisers are computed again for it.

Reference: Havasi et al. (2021), Training independent subnetworks for robust prediction.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine.phase import Left, Tick, phase
from symbayes.methods.phases.sharing import Family, Sharing, Together, repeated
from symbayes.networks import Network
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.mixing import mixed

ORDERS = 3
"""Stream of the members' orders, different from that of the network."""


@dataclass(frozen=True)
class Ends(Family):
    """Members with their own first kernel and last layer, given by the names of these parameters."""

    first: str
    last: tuple[str, ...]

    def of(self, params: Any) -> dict[str, Any]:
        """The parameters of the first and last layers, by name."""
        names = (self.first, *self.last)
        return {name: leaf for name, leaf in trees.flatten(params).items() if name in names}

    def own(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        return repeated(self.of(params), members)

    def fixed(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        return {}

    def member(self, shared: Any, own: Any, fixed: Any) -> Any:
        return trees.like(shared, trees.flatten(shared) | own)

    def weights(self, shared: Any, own: Any, fixed: Any) -> Any:
        together = jnp.sum(own[self.first], axis=0)
        own = own | {self.first: jnp.broadcast_to(together, own[self.first].shape)}
        return super().weights(shared, own, fixed)


@phase
class Mixing(Together):
    """Epochs of training with several inputs and outputs; the family is of the type `Ends`."""

    def gradients_per_step(self, posterior: Posterior) -> float:
        return super().gradients_per_step(posterior) / self.members

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Sharing:
        """Shared weights are those of the chain; every member gets fresh first and last layers."""
        entered = super().enter(posterior, shared, left, tick)
        keys = jax.random.split(tick.key, self.members)
        own = jax.vmap(lambda key: self._ends.of(posterior.init(key)["params"]))(keys)
        own[self._ends.first] = own[self._ends.first] / math.sqrt(self.members)
        return dataclasses.replace(entered, own=own)

    @property
    def _ends(self) -> Ends:
        assert isinstance(self.family, Ends)
        return self.family

    def step(self, posterior: Posterior, shared: None, flight: Sharing, tick: Tick) -> Sharing:
        moving = flight.variables["params"], flight.own
        outputs = SideBySide(posterior.network, self._ends, self.members)
        by_data, log_likelihood, stats = posterior.likelihood_gradient(
            outputs, moving, {"stats": flight.variables["stats"]}, tick.rows, tick.key, several=True
        )
        log_prior, by_prior = jax.value_and_grad(lambda moving: self._log_prior(posterior, *moving))(moving)
        unit = -posterior.temperature / posterior.size
        gradient, decay = self.by.taken(
            jax.tree.map(lambda g: unit * g, by_data),
            jax.tree.map(lambda g: unit * posterior.prior_weight * g, by_prior),
        )
        (params, own), memory = self.by.moved(posterior, moving, gradient, decay, flight.memory, tick)
        loss = flight.loss + unit * (log_likelihood + posterior.prior_weight * log_prior)
        variables = {"params": params, "stats": stats}
        return Sharing(variables, own, repeated(stats, self.members), flight.fixed, memory, loss)

    def networks(self, posterior: Posterior, chain: Sharing) -> Any:
        """Those of members that see the same input have statistics of their own."""
        return jax.vmap(posterior.with_statistics)(super().networks(posterior, chain))

    def _log_prior(self, posterior: Posterior, params: Any, own: Any) -> jax.Array:
        wide = own | {self._ends.first: math.sqrt(self.members) * own[self._ends.first]}
        each = jax.vmap(lambda own: posterior.prior.log_density(self._ends.member(params, own, None)))(wide)
        return jnp.mean(each)


@dataclass(frozen=True)
class SideBySide:
    """The network in training with several inputs; outputs (member, example, ...) in the order of rows."""

    network: Network
    ends: Ends
    members: int

    def __call__(self, arguments: Any, x: jax.Array, key: jax.Array) -> Any:
        (params, own), fixed = arguments
        keys = jax.random.split(jax.random.fold_in(key, ORDERS), self.members)
        orders = jax.vmap(lambda key: jax.random.permutation(key, x.shape[0]))(keys)
        kernels = own[self.ends.first]
        heads = {name: own[name] for name in self.ends.last}

        def outputs(head: Any) -> Any:
            whole = trees.like(params, trees.flatten(params) | head)

            def apply(params: Any, x: jax.Array) -> Any:
                return self.network.apply_train({**fixed, "params": params}, x, key)

            return mixed(apply, whole, self.ends.first, kernels, x[orders])

        # What lies before the last layer is computed once: it does not depend on the member.
        made, stats = jax.vmap(outputs, out_axes=(0, None))(heads)
        return jax.vmap(lambda out, order: out[jnp.argsort(order)])(made, orders), stats
