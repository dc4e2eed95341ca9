"""The one loop of all methods: some units of all chains, in one compiled program.

Randomness is ``fold_in(fold_in(key, chain), unit)``, with chains and units numbered through the whole run,
so neither the size of a block nor that of a group of chains changes a draw.  Loops have traced lengths: a
block of one unit runs the same program as one of many.  A unit that is too long for a block is cut into
pieces, and its flight is carried from one to the next.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes.engine import orders
from symbayes.engine.phase import Left, Phase, Tick
from symbayes.engine.plan import UNITS, Work
from symbayes.posterior import Posterior
from symbayes.posterior.numerics import COMPILED_AT_ONCE, COMPILED_SOON
from symbayes.pytrees import pytree

LOOPS_ON_DEVICE: Any = {
    "xla_gpu_enable_command_buffer": (
        "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"
    )
}
"""Compiler options: a GPU then runs loops of traced length by itself, where it would else ask the host before
every step.  Other devices do not look at them."""

SHORT = 100_000
"""Steps of a phase of fixed length up to which its programs are compiled by `COMPILED_SOON`."""

ENTER = 2**32 - 2
"""Stream of a phase's `enter`, counted downwards: units are counted upwards from 0, and fresh variables have
2**32 - 1."""


@pytree
@dataclass(frozen=True)
class State:
    """What a run carries from block to block.

    Leaves of `chain` and `flight` have a leading chain axis and are spread over the mesh's ``chain`` axis;
    `shared` belongs to all chains.  `key` is the run's key as plain data, which can be stored.  `flight` is
    None but for phases whose units are cut in pieces.
    """

    key: Any
    chain: Any
    shared: Any = None
    flight: Any = None


@pytree
@dataclass(frozen=True)
class Record:
    """What a block made: draws (chain, slot), their own statistics, and those of every unit (chain, unit).

    `steps` counts those of its loops, in which all chains step together.
    """

    variables: Any
    drawn: dict[str, jax.Array]
    traces: dict[str, jax.Array]
    steps: Any = 0

    def part(self, drawn: bool, done: bool) -> Record:
        """The same without draws where none were drawn, and without traces where no unit is done."""
        draws = (self.variables, self.drawn) if drawn else ({}, {})
        return Record(*draws, self.traces if done else {}, self.steps)


def chain_keys(key: jax.Array, chains: int, first: Any = 0) -> jax.Array:
    """One key per chain, whose number in the whole run decides it; `first` is that of the first one here."""
    return jax.vmap(lambda chain: jax.random.fold_in(key, chain))(first + jnp.arange(chains))


def initialised(posterior: Posterior, key: jax.Array, chains: int, first: Any = 0) -> Any:
    """The network's own initialisation, another one for every chain."""
    return jax.vmap(posterior.init)(chain_keys(key, chains, first))


fresh_variables = jax.jit(initialised, static_argnames="chains", compiler_options=COMPILED_AT_ONCE)
"""The same, compiled; as `enter`, not to be called while something else is traced."""


def entered(posterior: Posterior, phase: Phase, left: Left, key: Any, number: Any, first: Any = 0) -> State:
    """The state with which phase `number` begins, of the chains from number `first` on."""
    chains = jax.tree.leaves(left.variables)[0].shape[0]
    own, stream = jax.random.wrap_key_data(key), jnp.uint32(ENTER) - number
    keys = jax.vmap(lambda k: jax.random.fold_in(k, stream))(chain_keys(own, chains, first))
    shared = phase.begin(posterior, left, Tick(jax.random.fold_in(own, stream), jnp.int32(0)))
    each = Left(variables=0, chain=0, shared=None, distribution=0, found=None)

    def chain(left: Left, key: jax.Array) -> Any:
        return phase.enter(posterior, shared, left, Tick(key, jnp.int32(0)))

    return State(key, jax.vmap(chain, in_axes=(each, 0))(left, keys), shared)


enter = jax.jit(entered, compiler_options=COMPILED_SOON)
"""The same, compiled.  Not to be called while something else is traced: only the outermost has options."""


def with_flight(posterior: Posterior, phase: Phase, state: State) -> State:
    """The same state with room for the flight of units that are cut into pieces."""
    if not phase.overrides("open"):
        return state

    def opened(chain: Any) -> Any:
        tick = Tick(jax.random.wrap_key_data(state.key), jnp.int32(0))
        return jax.vmap(lambda one: phase.open(posterior, state.shared, one, tick))(chain)

    forms = jax.eval_shape(opened, state.chain)
    flight = jax.tree.map(lambda form: jnp.zeros(form.shape, form.dtype), forms)
    return State(state.key, state.chain, state.shared, flight)


@jax.jit
def fit(posterior: Posterior, phase: Phase, state: State) -> Any:
    """What every chain has found, with a leading chain axis; None where the phase fits nothing."""
    return jax.vmap(lambda chain: phase.fit(posterior, state.shared, chain))(state.chain)


def leave(posterior: Posterior, phase: Phase, state: State, distribution: Any) -> Left:
    """What a phase that ended hands to the next."""
    fitted = fit(posterior, phase, state) if phase.overrides("fit") else distribution
    chain = phase.leave(state.chain)
    return Left(chain.variables, chain, state.shared, fitted)


@functools.partial(jax.jit, static_argnames=("slots", "whole"), compiler_options=LOOPS_ON_DEVICE)
def advance(
    posterior: Posterior, phase: Phase, state: State, work: Work, *, slots: int, whole: bool
) -> tuple[State, Record]:
    """Some units of all chains, or a piece of one; with room for `slots` draws.

    `whole` says that no unit of the phase is cut: then no flight is carried from block to block.
    """
    units = _Units(posterior, phase, work, whole, jax.random.wrap_key_data(state.key))
    chains = jax.tree.leaves(state.chain)[0].shape[0]

    def unit(i: jax.Array, carry: Any) -> Any:
        chain, shared, flight, record = carry
        chain, shared, flight, statistics, steps = units.do(i, chain, shared, flight)
        variables, drawn = units.draw(i, chain, shared)
        place, own = work.places[i], (record.variables, record.drawn)
        # What is not kept goes to one slot beyond the last: a branch would copy the buffers.
        variables, drawn = jax.tree.map(lambda to, new: to.at[:, place].set(new), own, (variables, drawn))
        traces = jax.tree.map(lambda to, new: to.at[:, i].set(new), record.traces, statistics)
        return chain, shared, flight, Record(variables, drawn, traces, record.steps + steps)

    carry = (state.chain, state.shared, state.flight)
    made = jax.eval_shape(lambda: units.draw(0, state.chain, state.shared))
    statistics = jax.eval_shape(lambda: units.do(0, *carry)[3])
    variables, drawn = _room(made, chains, slots + 1)
    record = Record(variables, drawn, _room(statistics, chains, UNITS), jnp.int32(0))
    chain, shared, flight, record = jax.lax.fori_loop(0, work.count, unit, (*carry, record))
    return State(state.key, chain, shared, flight), record


advance_soon = jax.jit(
    advance.__wrapped__,  # pyright: ignore[reportAttributeAccessIssue]
    static_argnames=("slots", "whole"),
    compiler_options=LOOPS_ON_DEVICE | COMPILED_SOON,
)


def program(posterior: Posterior, phase: Phase) -> Any:
    """`advance`, or for a short phase on a GPU the same compiled sooner.

    A phase that may grow later is always compiled in one way, so that its draws stay the same.
    """
    steps = 0 if phase.open_ended else phase.units * phase.expected_steps(posterior)
    return advance_soon if 0 < steps <= SHORT and jax.default_backend() == "gpu" else advance


def _room(like: Any, chains: int, count: int) -> Any:
    """Buffers for `count` of these, after the chain axis."""
    return jax.tree.map(lambda leaf: jnp.zeros((chains, count, *leaf.shape[1:]), leaf.dtype), like)


@dataclass(frozen=True)
class _Units:
    """The units of a block, each for all chains at once."""

    posterior: Posterior
    phase: Phase
    work: Work
    whole: bool
    key: jax.Array

    def do(
        self, i: Any, chain: Any, shared: Any, flight: Any
    ) -> tuple[Any, Any, Any, dict[str, jax.Array], jax.Array]:
        """Unit `i` of the block, or its piece: chain, shared, flight, statistics, and how many steps."""
        flies = self.phase.overrides("open")
        keys, tick = self._tick(i, chain)
        flight = self._opened(keys, tick, chain, shared, flight) if flies else chain
        flight, steps = self._flown(keys, tick, shared, flight)
        chain, shared, statistics = self._closed(keys, tick, chain, shared, flight)
        return chain, shared, flight if flies and not self.whole else None, statistics, steps

    def draw(self, i: Any, chain: Any, shared: Any) -> tuple[Any, dict[str, jax.Array]]:
        """The draws at the end of unit `i`, where it is kept."""
        keys, tick = self._tick(i, chain)

        def drawn(chain: Any) -> Any:
            return jax.vmap(
                lambda c, k: self.phase.draw(self.posterior, shared, c, Tick(k, tick.unit)),
            )(chain, keys)

        if not self.phase.overrides("draw"):
            return drawn(chain)
        none = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(drawn, chain))
        return jax.lax.cond(self.work.kept[i], drawn, lambda _: none, chain)

    def _tick(self, i: Any, chain: Any) -> tuple[jax.Array, Tick]:
        """The chains' keys of unit `i`, and the tick without one."""
        number = self.work.first + i
        chains = jax.tree.leaves(chain)[0].shape[0]
        fold = jax.vmap(lambda k: jax.random.fold_in(k, self.work.before + number))
        return fold(chain_keys(self.key, chains, self.work.chain)), Tick(None, number)

    def _opened(self, keys: jax.Array, tick: Tick, chain: Any, shared: Any, flight: Any) -> Any:
        def opened() -> Any:
            return jax.vmap(lambda c, k: self.phase.open(self.posterior, shared, c, Tick(k, tick.unit)))(
                chain, keys
            )

        return opened() if self.whole else jax.lax.cond(self.work.begins, opened, lambda: flight)

    def _flown(self, keys: jax.Array, tick: Tick, shared: Any, flight: Any) -> tuple[Any, jax.Array]:
        """The flight after the steps of this piece, and how many they were."""
        begin, end = self.work.span(self.phase.steps(self.posterior, shared))
        order = self._order(keys)

        def step(j: jax.Array, flight: Any) -> Any:
            step_keys = jax.vmap(lambda key: jax.random.fold_in(key, j))(keys)
            rows = None
            if order is not None and (batch := self.phase.batch) is not None:
                rows = jax.lax.dynamic_slice_in_dim(order, j * batch, batch, axis=1)
            ticks = Tick(step_keys, tick.unit, j, rows)
            axes = (0, Tick(0, None, None, None if rows is None else 0))
            one = functools.partial(self.phase.step, self.posterior, shared)
            return jax.vmap(one, in_axes=axes)(flight, ticks)

        if not self.phase.overrides("going"):
            return jax.lax.fori_loop(begin, end, step, flight), jnp.int32(end - begin)

        def going(flight: Any) -> jax.Array:
            return jax.vmap(self.phase.going)(flight)

        def guarded(carry: Any) -> Any:
            j, flight = carry
            goes, moved = going(flight), step(j, flight)
            return j + 1, jax.tree.map(
                lambda new, old: jnp.where(goes.reshape(-1, *(1,) * (new.ndim - 1)), new, old), moved, flight
            )

        def more(carry: Any) -> jax.Array:
            return (carry[0] < end) & jnp.any(going(carry[1]))

        last, flight = jax.lax.while_loop(more, guarded, (jnp.asarray(begin, jnp.int32), flight))
        return flight, last - begin

    def _order(self, keys: jax.Array) -> jax.Array | None:
        """The order of the examples in this unit, another one for every chain."""
        if self.phase.batch is None:
            return None
        return jax.vmap(lambda key: orders.order(key, self.posterior.size))(keys)

    def _closed(self, keys: jax.Array, tick: Tick, chain: Any, shared: Any, flight: Any) -> Any:
        """The chains after the unit, what was learnt, and statistics; on the way, nothing of it."""

        def closed() -> Any:
            ended, statistics, evidence = jax.vmap(
                lambda c, f, k: self.phase.close(self.posterior, shared, c, f, Tick(k, tick.unit))
            )(chain, flight, keys)
            return ended, self.phase.learn(shared, evidence, tick), statistics

        if self.whole:
            return closed()
        forms = jax.eval_shape(closed)[2]
        none = jax.tree.map(lambda form: jnp.zeros(form.shape, form.dtype), forms)
        on_the_way = chain if self.phase.overrides("open") else flight
        return jax.lax.cond(self.work.ends, closed, lambda: (on_the_way, shared, none))
