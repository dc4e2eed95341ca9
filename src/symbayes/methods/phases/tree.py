"""The no-U-turn sampler: trajectories that end where they turn back, one leaf of a binary tree at a time.

From a fresh momentum ``p ~ N(0, I)`` a trajectory is doubled forwards or backwards in time, at random, by
leapfrog steps of size ``e``, until its ends turn towards one another: with ``r`` the sum of its momenta, and
``a`` and ``b`` the momenta at its ends, until

    <r - (a + b)/2, a> <= 0   or   <r - (a + b)/2, b> <= 0

for the trajectory or for any half of a half of it.  A state has the weight ``exp(-D)`` with the energy error
``D``.  Within a doubling each new state replaces the one chosen so far, with a probability that is its share
of the weight of all states so far.  The state chosen in a doubling replaces that of the trajectory before it
with probability ``min(1, W'/W)``, where ``W'`` and ``W`` are their weights.

A step is one leapfrog step, so that a tree can be cut anywhere.  Of the states of a doubling with ``2^k``
leaves only ``k`` are stored: leaf ``n`` is the first of the halves of halves that begin there, and those that
it ends began at leaves which are stored by the number of ones in their binary form.

References: Hoffman & Gelman (2014), The No-U-Turn sampler; Betancourt (2017), A conceptual introduction to
Hamiltonian Monte Carlo; Phan, Pradhan & Jankowiak (2019), Composable effects for flexible and accelerated
probabilistic programming in NumPyro.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine.phase import Tick, phase, static
from symbayes.methods.phases.adaptation import Tuning
from symbayes.methods.phases.energies import energies
from symbayes.methods.phases.resting import (
    DIVERGENT,
    Resting,
    either,
    fresh_momentum,
    leap,
    log_acceptance,
    per_parameter,
)
from symbayes.methods.phases.stepping import Evidence, Stepping
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree

DIRECTION, LEAF, SUBTREE = 1, 2, 3
"""Streams of a step: the direction of a doubling, its choice of a leaf, and whether the tree takes that."""

TYPICAL = 6
"""The expected number of doublings of a tree where nothing is known."""


@pytree
@dataclass(frozen=True)
class End:
    """One end of a trajectory."""

    state: Resting
    momentum: Any


@pytree
@dataclass(frozen=True)
class Doubling:
    """The part of a tree that is being built: leaves so far, the state chosen, sums of weights and momenta,
    and for each depth the momentum and the sum of momenta where a half of a half began."""

    leaves: Any
    chosen: Resting
    weight: Any
    momenta: Any
    begun: Any
    sums: Any
    turned: Any


@pytree
@dataclass(frozen=True)
class Tree:
    """A trajectory in progress.

    `here` is the end at which it grows, `first` where it began; `acceptance` is the mean acceptance
    probability of the leaves so far.
    """

    first: End
    left: End
    right: End
    here: End
    forward: Any
    chosen: Resting
    weight: Any
    momenta: Any
    depth: Any
    doubling: Doubling
    leaves: Any
    acceptance: Any
    divergent: Any
    going: Any


@phase
class Trees(Stepping):
    """Trees of all chains, which share step size and mass.

    Attributes:
        units: trees.
        step_size: the initial step size; None for one that is found by trial.
        target_accept: the mean acceptance probability of leaves that the step size is adapted to.
        adapting: whether the step size is being adapted; else it is the one found before.
        keeps: whether each tree ends in a draw.
        collects: whether the spread of the chains is collected; None for the prior's scales.
        whitens: whether the phase begins with scales from the spread collected before; None likewise.
        depth: the most doublings.
    """

    open_ended: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ("acceptance", "step_size", "leaves")

    units: int
    step_size: Any
    target_accept: Any
    adapting: Any
    keeps: bool
    collects: Any
    whitens: Any
    depth: int = static(default=10)

    def steps(self, posterior: Posterior, shared: Tuning | None) -> int:
        """The most leaves of a tree."""
        return 2**self.depth - 1

    def expected_steps(self, posterior: Posterior, begun: int | None = None) -> int:
        return 2 ** min(self.depth, TYPICAL) - 1

    def open(self, posterior: Posterior, shared: Tuning, chain: Resting, tick: Tick) -> Tree:
        params = chain.variables["params"]
        momentum = fresh_momentum(tick.key, params)
        end, zero = End(chain, momentum), jnp.zeros(())
        none = jax.tree.map(lambda p: jnp.zeros((self.depth, *p.shape), p.dtype), momentum)
        empty = Doubling(jnp.int32(0), chain, -jnp.inf * jnp.ones(()), momentum, none, none, jnp.array(False))
        return Tree(
            first=end,
            left=end,
            right=end,
            here=end,
            forward=jnp.array(True),
            chosen=chain,
            weight=zero,
            momenta=momentum,
            depth=jnp.int32(0),
            doubling=empty,
            leaves=jnp.int32(0),
            acceptance=zero,
            divergent=jnp.array(False),
            going=jnp.array(True),
        )

    def going(self, flight: Tree) -> Any:
        return flight.going

    def step(self, posterior: Posterior, shared: Tuning, flight: Tree, tick: Tick) -> Tree:
        begins = flight.doubling.leaves == 0
        forward = jnp.where(
            begins, jax.random.bernoulli(jax.random.fold_in(tick.key, DIRECTION)), flight.forward
        )
        # Settled, like the end: a tree decides by signs, and must be rounded the same however it is cut.
        here = _settled(either(begins, either(forward, flight.right, flight.left), flight.here))
        size = jnp.where(forward, shared.step_size, -shared.step_size)
        step = per_parameter(posterior, size, here.state.variables["params"], shared.scales)
        end = _settled(End(*leap(posterior, here.state, step, here.momentum)))
        first = flight.first
        weight = log_acceptance(posterior, first.state, end.state, first.momentum, end.momentum, settle=True)
        divergent, accepts = weight < -DIVERGENT, jnp.minimum(1.0, jnp.exp(weight))
        doubling = self._grown(flight.doubling, end, weight, tick)
        grown = Tree(
            first=flight.first,
            left=flight.left,
            right=flight.right,
            here=end,
            forward=forward,
            chosen=flight.chosen,
            weight=flight.weight,
            momenta=flight.momenta,
            depth=flight.depth,
            doubling=doubling,
            leaves=flight.leaves + 1,
            acceptance=flight.acceptance + (accepts - flight.acceptance) / (flight.leaves + 1),
            divergent=divergent,
            going=~(divergent | doubling.turned),
        )
        complete = grown.going & (doubling.leaves == 2**flight.depth)
        return either(complete, self._joined(grown, tick), grown)

    def _grown(self, doubling: Doubling, end: End, weight: jax.Array, tick: Tick) -> Doubling:
        """The doubling with one more leaf."""
        number = doubling.leaves
        begins = number == 0
        momenta = jax.tree.map(lambda r, p: jnp.where(begins, p, r + p), doubling.momenta, end.momentum)
        total = jnp.where(begins, weight, jnp.logaddexp(doubling.weight, weight))
        taken = jnp.log(jax.random.uniform(jax.random.fold_in(tick.key, LEAF))) < weight - total
        # The index at which the half of a half that begins at an even leaf is stored: the ones in number / 2.
        place = jax.lax.population_count(number >> 1)
        even = number % 2 == 0
        levels = jnp.arange(self.depth)
        put = even & (levels == place)

        def kept(all: jax.Array, new: jax.Array) -> jax.Array:
            return jnp.where(put.reshape(-1, *(1,) * new.ndim), new, all)

        begun = jax.tree.map(kept, doubling.begun, end.momentum)
        # The sum before the half of a half, from which its own sum is computed.
        before = jax.tree.map(jnp.subtract, momenta, end.momentum)
        sums = jax.tree.map(kept, doubling.sums, before)
        # An odd leaf ends as many halves of halves as there are ones at the end of its number.
        ended = jax.lax.population_count(number & ~(number + 1))
        looked_at = ~even & (levels <= place) & (levels > place - ended)
        turned = jax.vmap(
            lambda first, before: turns(first, end.momentum, jax.tree.map(jnp.subtract, momenta, before))
        )(begun, sums)
        return Doubling(
            leaves=number + 1,
            chosen=either(begins | taken, end.state, doubling.chosen),
            weight=total,
            momenta=momenta,
            begun=begun,
            sums=sums,
            turned=jnp.any(turned & looked_at),
        )

    def _joined(self, tree: Tree, tick: Tick) -> Tree:
        """The tree with a doubling that is complete, ready for the next."""
        doubling = tree.doubling
        taken = (
            jnp.log(jax.random.uniform(jax.random.fold_in(tick.key, SUBTREE))) < doubling.weight - tree.weight
        )
        left = either(tree.forward, tree.left, tree.here)
        right = either(tree.forward, tree.here, tree.right)
        momenta = jax.tree.map(jnp.add, tree.momenta, doubling.momenta)
        depth = tree.depth + 1
        ends = turns(left.momentum, right.momentum, momenta) | (depth == self.depth)
        return Tree(
            first=tree.first,
            left=left,
            right=right,
            here=tree.here,
            forward=tree.forward,
            chosen=either(taken, doubling.chosen, tree.chosen),
            weight=jnp.logaddexp(tree.weight, doubling.weight),
            momenta=momenta,
            depth=depth,
            doubling=Doubling(
                jnp.int32(0),
                doubling.chosen,
                doubling.weight,
                doubling.momenta,
                doubling.begun,
                doubling.sums,
                doubling.turned,
            ),
            leaves=tree.leaves,
            acceptance=tree.acceptance,
            divergent=tree.divergent,
            going=~ends,
        )

    def close(
        self, posterior: Posterior, shared: Tuning, chain: Resting, flight: Tree, tick: Tick
    ) -> tuple[Resting, dict[str, jax.Array], Evidence]:
        ended = flight.chosen
        acceptance = flight.acceptance
        statistics = {
            **energies(posterior, ended.variables["params"], ended.likelihood),
            "acceptance": acceptance,
            "divergent": flight.divergent,
            "leaves": flight.leaves,
            "depth": flight.depth,
            "step_size": shared.step_size,
        }
        positions = None if self.collects is None else ended.variables["params"]
        return ended, statistics, Evidence(acceptance, positions)

    def kept(self, unit: int) -> bool:
        return self.keeps


def _settled(tree: Any) -> Any:
    return jax.lax.optimization_barrier(tree)


def turns(left: Any, right: Any, momenta: Any) -> jax.Array:
    """Whether the ends of a trajectory with these momenta, and this sum of momenta, turn towards one
    another."""
    middle = jax.tree.map(lambda r, a, b: r - (a + b) / 2, momenta, left, right)
    return (trees.dot(middle, left) <= 0) | (trees.dot(middle, right) <= 0)
