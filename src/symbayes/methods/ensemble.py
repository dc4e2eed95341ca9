"""Deep ensembles of maximum-a-posteriori networks.

Each member minimises, by mini-batches of B out of N examples,

    - 1/B sum_{i in batch} log p(y_i | w) - 1/N log p(w)

with the posterior's own likelihood and prior, from its own initialisation and in its own order.
The members are chains with one draw each.

References: Lakshminarayanan, Pritzel & Blundell (2017), Simple and scalable predictive uncertainty
estimation using deep ensembles; Kingma & Ba (2015), Adam.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax

from symbayes.engine.plan import Plan, Work, steps_per_block
from symbayes.engine.protocol import LOOPS_ON_DEVICE, Block, State, chain_keys
from symbayes.engine.start import start_variables
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.sums import compensated
from symbayes.specs import require, require_counts, require_positive

Optimizer = Literal["adam", "sgd"]
Schedule = Literal["constant", "cosine"]

SLOTS = 64
"""Epochs that a block has room for."""

OPTIMIZERS = {"adam": optax.scale_by_adam, "sgd": lambda: optax.trace(decay=0.9)}


@dataclass(frozen=True)
class DeepEnsemble:
    """An ensemble of networks trained from scratch (Lakshminarayanan et al. 2017), each a mode.

    Attributes:
        learning_rate: of the optimiser, on the mean loss per example.
        epochs: passes over the training data.
        batch: examples in a mini-batch; what is left of an epoch is dropped, another part each time.
        chains: members.
        optimizer: adam, or sgd with momentum 0.9.
        schedule: the learning rate falls to zero along a cosine, or stays constant.
        block_steps: optimiser steps between two saves; by default about a second of work.
    """

    name: ClassVar[str] = "ensemble"
    remedy: ClassVar[str] = "use a smaller learning_rate, and inputs of the order of one"

    learning_rate: float = 1e-3
    epochs: int = 50
    batch: int = 100
    chains: int = 5
    optimizer: Optimizer = "adam"
    schedule: Schedule = "cosine"
    block_steps: int | None = None

    def __post_init__(self) -> None:
        require_positive(learning_rate=self.learning_rate)
        require_counts(epochs=self.epochs, batch=self.batch, chains=self.chains)
        if self.block_steps is not None:
            require_counts(block_steps=self.block_steps)
        require(self.optimizer in OPTIMIZERS, f"optimizer is adam or sgd, not {self.optimizer!r}")
        require(
            self.schedule in ("constant", "cosine"), f"schedule is constant or cosine, not {self.schedule!r}"
        )

    def resolve(self, posterior: Posterior) -> DeepEnsemble:
        batch = min(self.batch, posterior.size)
        steps = steps_per_block(posterior, self.chains, batch)
        return dataclasses.replace(self, batch=batch, block_steps=self.block_steps or steps)

    def plan(self, posterior: Posterior) -> Plan:
        assert self.block_steps is not None, "resolve the method first"
        return Plan(self.epochs, posterior.size // self.batch, self.block_steps, SLOTS)

    def blocks(self, posterior: Posterior) -> int:
        return self.plan(posterior).blocks

    def kept(self) -> int:
        return 1

    def gradients(self, posterior: Posterior) -> float:
        return float(self.epochs)

    def init(self, posterior: Posterior, key: jax.Array, start: Any = None) -> State:
        variables = start_variables(posterior, key, self.chains, start)
        memory = jax.vmap(OPTIMIZERS[self.optimizer]().init)(variables["params"])
        return State(jax.random.key_data(key), Member(variables, memory))

    def advance(self, posterior: Posterior, state: State, block: int) -> tuple[State, Block]:
        plan = self.plan(posterior)
        work = plan.work(block)
        settings = Settings(
            np.float32(self.learning_rate),
            np.bool_(self.schedule == "cosine"),
            np.int32(self.epochs),
        )
        state, loss, losses = _advance(
            posterior,
            state,
            settings,
            work.arrays(),
            batch=self.batch,
            optimizer=self.optimizer,
            slots=SLOTS,
        )
        made = Block(metrics={"loss": loss}, traces={"losses": losses}, done=work.count)
        if block < plan.blocks - 1:
            return state, made
        variables, stats = _draw(posterior, state.chains.variables)
        return state, dataclasses.replace(made, variables=variables, stats=stats, kept=range(1))

    def finish(self, posterior: Posterior, state: State) -> None:
        return None

    def review(self, metrics: Sequence[Mapping[str, Any]]) -> list[str]:
        return []


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Member:
    """One network and what its optimiser remembers."""

    variables: Any
    memory: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Settings:
    """The hyper-parameters as arrays, so that other values compile nothing."""

    learning_rate: Any
    cosine: Any
    epochs: Any


@functools.partial(jax.jit, static_argnames=("batch", "optimizer", "slots"), compiler_options=LOOPS_ON_DEVICE)
def _advance(
    posterior: Posterior,
    state: State,
    settings: Settings,
    work: Work,
    *,
    batch: int,
    optimizer: Optimizer,
    slots: int,
) -> tuple[State, jax.Array, jax.Array]:
    """Some epochs of all members, or a piece of each; the mean loss, and that of each member in each
    epoch."""
    chains = jax.tree.leaves(state.chains.variables)[0].shape[0]
    keys = chain_keys(jax.random.wrap_key_data(state.key), chains)
    steps = posterior.size // batch
    begin, end = work.span(steps)

    def epoch(i: jax.Array, carry: Any) -> Any:
        member, losses = carry
        epoch_keys = jax.vmap(lambda key: jax.random.fold_in(key, work.first + i))(keys)
        order = jax.vmap(lambda key: jax.random.permutation(key, posterior.size))(epoch_keys)

        def step(j: jax.Array, carry: Any) -> Any:
            member, total = carry
            rows = jax.lax.dynamic_slice_in_dim(order, j * batch, batch, axis=1)
            done = ((work.first + i) * steps + j) / (settings.epochs * steps)
            fall = jnp.where(settings.cosine, (1 + jnp.cos(jnp.pi * done)) / 2, 1.0)
            train = functools.partial(_train, posterior, optimizer, settings.learning_rate * fall)
            step_keys = jax.vmap(lambda key: jax.random.fold_in(key, j))(epoch_keys)
            member, loss = jax.vmap(train)(member, rows, step_keys)
            return member, total + loss

        member, total = jax.lax.fori_loop(begin, end, step, (member, jnp.zeros(chains)))
        return member, losses.at[:, i].set(total / (end - begin))

    start = (state.chains, jnp.zeros((chains, slots)))
    member, losses = jax.lax.fori_loop(0, work.count, epoch, start)
    return State(state.key, member), jnp.sum(losses) / (work.count * chains), losses


def _train(
    posterior: Posterior,
    optimizer: Optimizer,
    learning_rate: jax.Array,
    member: Member,
    rows: jax.Array,
    key: jax.Array,
) -> tuple[Member, jax.Array]:
    """One step of one member."""

    def loss(params: Any) -> tuple[jax.Array, Any]:
        variables = {**member.variables, "params": params}
        log_density, stats = posterior.minibatch_log_density(variables, rows, key)
        return -log_density * posterior.temperature / posterior.size, stats

    params = member.variables["params"]
    (value, stats), gradient = jax.value_and_grad(loss, has_aux=True)(params)
    direction, memory = OPTIMIZERS[optimizer]().update(gradient, member.memory, params)
    params = jax.tree.map(lambda w, d: w - learning_rate * d, params, direction)
    return Member({"params": params, "stats": stats}, memory), value


@jax.jit
def _draw(posterior: Posterior, members: Any) -> tuple[Any, dict[str, jax.Array]]:
    """The members as one draw of each chain, with their statistics."""
    terms = jax.vmap(posterior.likelihood_terms)(members)
    log_likelihood = jax.vmap(compensated)(terms)
    log_prior = jax.vmap(posterior.prior.log_density)(members["params"])
    energy = -posterior.likelihood_weight * log_likelihood - posterior.prior_weight * log_prior
    stats = {"energy": energy, "log_likelihood": log_likelihood}
    return jax.tree.map(lambda leaf: leaf[:, None], (members, stats))
