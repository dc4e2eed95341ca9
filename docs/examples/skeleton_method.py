"""Unadjusted Langevin dynamics over all data: the smallest complete method.

With step size e and standard normal noise z, every step is

    w <- w + e/2 grad log p(w) + sqrt(e) z

There is no accept step, so at a finite step size the draws follow a law near the posterior, not the
posterior itself.  For a Gaussian with precision A the mean is right and the covariance is
(A - e A^2 / 4)^-1.

Reference: Roberts & Tweedie (1996), Exponential convergence of Langevin distributions and their discrete
approximations.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine import Block, State
from symbayes.engine.plan import Plan, draw_slots, steps_per_block
from symbayes.engine.protocol import LOOPS_ON_DEVICE, chain_keys
from symbayes.engine.start import start_variables
from symbayes.posterior import Posterior
from symbayes.specs import require, require_counts, require_positive


# --8<-- [start:configuration]
@dataclass(frozen=True)
class Langevin:
    """Unadjusted full-batch Langevin dynamics (Roberts & Tweedie 1996): biased at a finite step.

    Attributes:
        step_size: of the discretised diffusion.
        thin: steps from one draw to the next.
        burn_in: draws that are made and not kept.
        draws: draws that are kept after that.
        chains: independent chains.
        block_steps: steps between two saves; by default about a second of work.
    """

    name: ClassVar[str] = "langevin"
    remedy: ClassVar[str] = "use a smaller step_size"

    step_size: float
    thin: int = 10
    burn_in: int = 50
    draws: int = 200
    chains: int = 4
    block_steps: int | None = None

    def __post_init__(self) -> None:
        require_positive(step_size=self.step_size)
        require_counts(thin=self.thin, draws=self.draws, chains=self.chains)
        require(self.burn_in >= 0, f"burn_in is a number of draws, not {self.burn_in}")
        if self.block_steps is not None:
            require_counts(block_steps=self.block_steps)

    def resolve(self, posterior: Posterior) -> Langevin:
        steps = self.block_steps or steps_per_block(posterior, self.chains, posterior.size)
        return dataclasses.replace(self, block_steps=steps)

    # --8<-- [end:configuration]

    # --8<-- [start:work]
    def plan(self, posterior: Posterior) -> Plan:
        """A unit is one draw, of `thin` steps."""
        assert self.block_steps is not None, "resolve the method first"
        slots = draw_slots(posterior, self.chains)
        return Plan(self.burn_in + self.draws, self.thin, self.block_steps, slots)

    def blocks(self, posterior: Posterior) -> int:
        return self.plan(posterior).blocks

    def kept(self) -> int:
        return self.draws

    def gradients(self, posterior: Posterior) -> float:
        return float((self.burn_in + self.draws) * self.thin)

    # --8<-- [end:work]

    # --8<-- [start:run]
    def init(self, posterior: Posterior, key: jax.Array, start: Any = None) -> State:
        variables = start_variables(posterior, key, self.chains, start)
        return State(jax.random.key_data(key), Walker(variables))

    def advance(self, posterior: Posterior, state: State, block: int) -> tuple[State, Block]:
        plan = self.plan(posterior)
        work = plan.work(block)
        settings = Settings(jnp.float32(self.step_size), jnp.int32(self.thin), jnp.int32(plan.pieces))
        counts = tuple(jnp.int32(value) for value in (work.first, work.count, work.piece))
        state, (variables, stats) = _advance(posterior, state, settings, *counts, slots=plan.slots)
        made = work.count if work.piece == plan.pieces - 1 else 0
        return state, Block(
            variables=variables,
            stats=stats,
            kept=range(min(max(self.burn_in - work.first, 0), made), made),
            first=max(work.first - self.burn_in, 0),
            traces={"energy": stats["energy"]},
            done=made,
        )

    def finish(self, posterior: Posterior, state: State) -> None:
        return None

    def review(self, metrics: Sequence[Mapping[str, Any]]) -> list[str]:
        return []

    # --8<-- [end:run]


# --8<-- [start:compiled]
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Walker:
    """Where a chain is."""

    variables: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Settings:
    """The hyper-parameters as arrays, so that other values compile nothing."""

    step_size: Any
    thin: Any
    pieces: Any


@functools.partial(jax.jit, static_argnames="slots", compiler_options=LOOPS_ON_DEVICE)
def _advance(
    posterior: Posterior,
    state: State,
    settings: Settings,
    first: jax.Array,
    count: jax.Array,
    piece: jax.Array,
    *,
    slots: int,
) -> tuple[State, tuple[Any, dict[str, jax.Array]]]:
    """Piece number `piece` of the draws `first` .. `first + count`, of all chains."""
    chains = jax.tree.leaves(state.chains)[0].shape[0]
    keys = chain_keys(jax.random.wrap_key_data(state.key), chains)
    begin, end = (settings.thin * part // settings.pieces for part in (piece, piece + 1))

    def draw(i: jax.Array, carry: Any) -> Any:
        variables, record = carry

        def step(j: jax.Array, variables: Any) -> Any:
            number = (first + i) * settings.thin + j
            step_keys = jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)
            return jax.vmap(functools.partial(_step, posterior, settings.step_size))(variables, step_keys)

        variables = jax.lax.fori_loop(begin, end, step, variables)
        made = (variables, {"energy": -jax.vmap(posterior.log_density)(variables)})
        return variables, jax.tree.map(lambda buffer, new: buffer.at[:, i].set(new), record, made)

    like = (state.chains.variables, {"energy": jnp.zeros(chains)})
    record = jax.tree.map(lambda leaf: jnp.zeros((chains, slots, *leaf.shape[1:]), leaf.dtype), like)
    variables, record = jax.lax.fori_loop(0, count, draw, (state.chains.variables, record))
    return State(state.key, Walker(variables)), record


def _step(posterior: Posterior, step_size: jax.Array, variables: Any, key: jax.Array) -> Any:
    """One step of one chain."""
    params = variables["params"]
    gradient, noise = posterior.gradient(variables), trees.random_normal(key, params)
    moved = jax.tree.map(
        lambda w, g, z: w + step_size / 2 * g + jnp.sqrt(step_size) * z, params, gradient, noise
    )
    return {**variables, "params": moved}


# --8<-- [end:compiled]
