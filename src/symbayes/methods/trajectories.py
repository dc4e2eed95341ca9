"""The compiled part of Hamiltonian Monte Carlo: trajectories of all chains, in one program.

A trajectory departs (momentum and first half step), flies (leapfrog steps) and arrives (accept or
reject).  Where it is too long for one block, its flight is carried over to the next.

Where the prior has one standard deviation, every parameter takes the same step e.  Where its parameters have
different ones, s, the dynamics is that of the whitened parameters w / s: w takes the step e s, and so does p.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine.plan import Work
from symbayes.engine.protocol import LOOPS_ON_DEVICE, State, chain_keys
from symbayes.methods.adaptation import DualAveraging
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.sums import compensated

DIVERGENT = 1000.0
"""An energy error beyond which a trajectory has left the level set: its step size is too large."""

LARGE = 1 << 16
"""Numbers in a gradient from which it is finished before the momentum takes it up."""

LONGEST = 16
"""While adapting, a trajectory takes at most this many times the steps of the step size given."""

ROUNDING = 1e-5
"""Keeps 0.48 / 0.008 at 60 steps, also in float32."""

UNIFORM = 1
"""Stream of the accept step, apart from that of the momentum."""

STATISTICS = {
    "energy": jnp.float32,
    "log_likelihood": jnp.float32,
    "acceptance": jnp.float32,
    "accepted": jnp.bool_,
    "divergent": jnp.bool_,
    "step_size": jnp.float32,
}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Flight:
    """A trajectory under way: where it began, its momentum half a step on, and the likelihood of every
    chunk where it is, as far as the gradient knows it."""

    start: Any
    start_gradient: Any
    momentum: Any
    likelihood: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Chain:
    """Where a chain is, with the gradient of the log density and the likelihood of every chunk there.

    `likelihood` belongs to the last accepted position, also while a trajectory is under way.
    """

    variables: Any
    gradient: Any
    likelihood: Any
    flight: Flight | None = None


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Record:
    """Draws and statistics of a block, (chain, slot) first; the mean acceptance of all of it, and the
    divergences after burn-in."""

    variables: Any
    stats: Any
    acceptance: Any
    divergences: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Settings:
    """The hyper-parameters as arrays, so that other values compile nothing."""

    step_size: Any
    trajectory: Any
    target_accept: Any
    burn_in: Any
    adapted: Any
    leapfrog_steps: Any

    def steps(self, step_size: jax.Array) -> jax.Array:
        """``ceil(trajectory / step size)``."""
        steps = jnp.ceil(self.trajectory / step_size * (1 - ROUNDING)).astype(jnp.int32)
        return jnp.clip(steps, 1, LONGEST * self.leapfrog_steps)


@jax.jit
def locate(posterior: Posterior, variables: Any) -> Chain:
    """The chains' state at these variables."""
    gradient, terms = jax.vmap(posterior.gradient_and_terms)(variables)
    return Chain(variables, gradient, jax.vmap(functools.partial(_exact, posterior))(variables, terms))


def _exact(posterior: Posterior, variables: Any, terms: jax.Array) -> jax.Array:
    """The likelihood for an accept step: float32, whatever the gradient's precision was."""
    return terms if posterior.precision == "float32" else posterior.likelihood_terms(variables)


@functools.partial(jax.jit, static_argnames="slots", compiler_options=LOOPS_ON_DEVICE)
def advance(
    posterior: Posterior,
    state: State,
    settings: Settings,
    work: Work,
    *,
    slots: int,
) -> tuple[State, Record]:
    """Some trajectories of all chains, or a piece of each.

    Loops have traced lengths, so that a block of one trajectory compiles to the same loop body as one of
    many.
    """
    key = jax.random.wrap_key_data(state.key)
    chains = state.chains.likelihood.shape[0]

    def trajectory(i: jax.Array, carry: Any) -> Any:
        chain, adaptation, (variables, stats) = carry
        steps = settings.steps(adaptation.step_size)
        step_size = settings.trajectory / steps
        step_size = jnp.where(steps < LONGEST * settings.leapfrog_steps, step_size, adaptation.step_size)
        step = _per_parameter(posterior, step_size, trees.index(chain.variables["params"], 0))
        keys = jax.vmap(lambda k: jax.random.fold_in(k, work.first + i))(chain_keys(key, chains))
        flight = jax.vmap(functools.partial(_depart, step=step, begins=work.piece == 0))(keys, chain)
        begin, end = work.span(steps)
        chain, flight = _fly(posterior, chain, flight, step, end - begin)
        arrive = functools.partial(_arrive, posterior, step=step, ends=work.ends)
        chain, info = jax.vmap(arrive)(keys, chain, flight)
        info["step_size"] = jnp.broadcast_to(step_size, (chains,))
        adaptation = _adapt(adaptation, settings, info["acceptance"], work.first + i, work.ends)
        record = jax.tree.map(
            lambda buffer, new: buffer.at[:, i].set(new), (variables, stats), (chain.variables, info)
        )
        return chain, adaptation, record

    def buffer(leaf: Any) -> jax.Array:
        return jnp.zeros((chains, slots, *leaf.shape[1:]), leaf.dtype)

    info = {name: jax.ShapeDtypeStruct((chains,), dtype) for name, dtype in STATISTICS.items()}
    record = jax.tree.map(buffer, (state.chains.variables, info))
    chain, adaptation, (variables, stats) = jax.lax.fori_loop(
        0, work.count, trajectory, (state.chains, state.shared, record)
    )
    made = jnp.arange(slots) < work.count
    record = Record(
        variables,
        stats,
        acceptance=jnp.sum(jnp.where(made, stats["acceptance"], 0.0)) / (work.count * chains),
        divergences=jnp.sum(made & (work.first + jnp.arange(slots) >= settings.burn_in) & stats["divergent"]),
    )
    return State(state.key, chain, adaptation), record


def _per_parameter(posterior: Posterior, step_size: jax.Array, params: Any) -> Any:
    """The step of every parameter, each leaf broadcasting to that of `params`."""
    common = posterior.prior.standard_deviation is not None
    scales = None if common else posterior.prior.deviations(params)
    if scales is None:
        return jax.tree.map(lambda _: step_size, params)
    return jax.tree.map(lambda scale: step_size * scale, scales)


def _momentum(key: jax.Array, params: Any) -> Any:
    """The momentum with which a trajectory begins.

    The barrier makes it the same numbers wherever it is used: fused into what follows, its last
    product would be rounded as the rest of the program has it.
    """
    return jax.lax.optimization_barrier(trees.random_normal(key, params))


def _depart(key: jax.Array, chain: Chain, step: Any, begins: jax.Array) -> Flight:
    """A fresh momentum and its first half step; or the flight that an earlier block left."""
    params = chain.variables["params"]
    momentum = jax.tree.map(lambda p, e, g: p + e / 2 * g, _momentum(key, params), step, chain.gradient)
    fresh = Flight(params, chain.gradient, momentum, chain.likelihood)
    if chain.flight is None:
        return fresh
    return jax.tree.map(lambda new, old: jnp.where(begins, new, old), fresh, chain.flight)


def _fly(
    posterior: Posterior, chain: Chain, flight: Flight, step: Any, steps: jax.Array
) -> tuple[Chain, Flight]:
    """Leapfrog steps of all chains, with the momentum half a step ahead of the position."""

    def leapfrog(_: jax.Array, carry: Any) -> Any:
        params, momentum, *__ = carry
        params = jax.tree.map(lambda w, e, p: w + e * p, params, step, momentum)
        gradient, terms = jax.vmap(posterior.gradient_and_terms)({**chain.variables, "params": params})
        gradient = jax.tree.map(_settled, gradient)
        momentum = jax.tree.map(lambda p, e, g: p + e * g, momentum, step, gradient)
        return params, momentum, gradient, terms

    carry = (chain.variables["params"], flight.momentum, chain.gradient, flight.likelihood)
    params, momentum, gradient, terms = jax.lax.fori_loop(0, steps, leapfrog, carry)
    variables = {**chain.variables, "params": params}
    return (
        dataclasses.replace(chain, variables=variables, gradient=gradient),
        dataclasses.replace(flight, momentum=momentum, likelihood=terms),
    )


def _settled(gradient: jax.Array) -> jax.Array:
    """The same gradient, computed to its end before it is used where it is large.

    A GPU sums a matrix product in parts; fused with what follows, the last sum reads them across their
    layout.  A small gradient does not repay a kernel of its own.
    """
    return jax.lax.optimization_barrier(gradient) if gradient.size >= LARGE else gradient


def _arrive(
    posterior: Posterior, key: jax.Array, chain: Chain, flight: Flight, step: Any, ends: jax.Array
) -> tuple[Chain, dict[str, jax.Array]]:
    """Accept or reject at the end of a trajectory; on the way, only hand the flight on."""
    old, new = flight.start, chain.variables["params"]
    terms = _exact(posterior, chain.variables, flight.likelihood)
    potential = posterior.difference_terms(new, old, terms, chain.likelihood)
    last = jax.tree.map(lambda p, e, g: p - e / 2 * g, flight.momentum, step, chain.gradient)
    kinetic = jax.tree.map(lambda a, b: (a - b) * (a + b) / 2, _momentum(key, old), last)
    log_accept = compensated(*potential, *jax.tree.leaves(kinetic))
    log_accept = jnp.where(jnp.isnan(log_accept), -jnp.inf, log_accept)
    accepted = jnp.log(jax.random.uniform(jax.random.fold_in(key, UNIFORM))) < log_accept
    reject = ends & ~accepted

    def choose(at_start: Any, at_end: Any) -> Any:
        return jax.tree.map(lambda a, b: jnp.where(reject, a, b), at_start, at_end)

    terms = jnp.where(ends & accepted, terms, chain.likelihood)
    params = choose(old, new)
    arrived = Chain(
        variables={**chain.variables, "params": params},
        gradient=choose(flight.start_gradient, chain.gradient),
        likelihood=terms,
        flight=None if chain.flight is None else flight,
    )
    log_likelihood = compensated(terms)
    log_prior = posterior.prior.log_density(params)
    return arrived, {
        "energy": -posterior.likelihood_weight * log_likelihood - posterior.prior_weight * log_prior,
        "log_likelihood": log_likelihood,
        "acceptance": jnp.minimum(1.0, jnp.exp(log_accept)),
        "accepted": accepted,
        "divergent": log_accept < -DIVERGENT,
    }


def _adapt(
    adaptation: DualAveraging, settings: Settings, acceptance: jax.Array, index: jax.Array, ends: jax.Array
) -> DualAveraging:
    """Learn from the chains' mean acceptance during burn-in, then settle on the average."""
    learned = adaptation.update(jnp.mean(acceptance), settings.target_accept, settings.step_size)
    last = index == settings.adapted - 1
    learned = dataclasses.replace(
        learned,
        step_size=jnp.minimum(jnp.where(last, learned.average, learned.step_size), settings.trajectory),
    )
    active = ends & (index < settings.adapted)
    return jax.tree.map(lambda new, old: jnp.where(active, new, old), learned, adaptation)
