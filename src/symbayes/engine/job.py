"""The work of a run, block by block: phases entered and left, blocks made, checked, observed and saved.

While the device works on one block, the one before it is checked, observed and saved by another thread: some
devices hold the calling thread until a block is done.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from symbayes.distributions import Mixture, from_arrays, to_arrays
from symbayes.draws.draws import named_arrays
from symbayes.draws.forward import FITTED
from symbayes.engine import loop, placement, states
from symbayes.engine.crew import Crew
from symbayes.engine.loop import Record, State
from symbayes.engine.method import Method
from symbayes.engine.observers import Memory, Observer
from symbayes.engine.phase import Left, Phase
from symbayes.engine.plan import Cursor, Plan, draw_slots, steps_per_block
from symbayes.engine.sinks import Sink
from symbayes.engine.start import Start
from symbayes.posterior import Posterior
from symbayes.posterior.forwards import Passes, predicting

SAVER_NICENESS = 10
"""Of the thread that saves: on a CPU it would else hold up the threads that compute the next block."""

STATE_BYTES_PER_SECOND = 2e7
"""State is saved so seldom that it takes no more of the disk than this, and at the end of the run."""


class Diverged(FloatingPointError):
    """Numbers stopped being finite; the message says where, and the remedy."""


@dataclass(frozen=True)
class Block:
    """What a block made, and where the run is after it.

    Attributes:
        record: arrays that may still be under way.
        units: numbers, within the phase, of the units that are complete; none for a piece of one.
        kept: which of these end in draws.
        first: number of the first of these draws within the run.
        seen: what observers took of it.
        distribution: what the phase that ends here has fitted, if anything.
        last: whether the run ends here.
        whole: of several processes, the state as each can read it, if it is to be stored.
        stops: of several processes, whether they stop after this.
    """

    phase: Phase
    plan: Plan
    record: Record
    units: Sequence[int]
    kept: np.ndarray
    first: int
    after: Cursor
    state: State
    seen: Mapping[str, Any]
    distribution: Any = None
    last: bool = False
    whole: State | None = None
    stops: bool = False


@dataclass
class Job:
    """A method on a posterior, with what follows it.

    `stopping` says whether the run is about to stop: then the state of the block at hand is stored.
    """

    method: Method
    posterior: Posterior
    start: Start
    observers: tuple[Observer, ...] = ()
    keep: int = 1
    mesh: Mesh | None = None
    block_steps: int | None = None
    stopping: Callable[[], bool] = lambda: False
    crew: Crew = field(default_factory=Crew)
    phases: tuple[Phase, ...] = field(init=False)
    slots: int = field(init=False)
    memories: dict[str, Memory] = field(init=False, default_factory=dict)
    observed: Posterior = field(init=False)
    """The posterior as observers see it: with the likelihood that predictions are of."""
    _law: Any = field(init=False, default=None)
    _saved: float = field(init=False, default=-np.inf)

    def __post_init__(self) -> None:
        self.posterior = self.method.prepared(self.posterior)
        self.phases = self.method.phases(self.posterior)
        self.slots = draw_slots(self.posterior, self.method.chains)
        self.observed = copy.copy(self.posterior)
        self.observed.likelihood = predicting(self.posterior.likelihood, self.method.forward)

    # Phases

    def begin(self, number: int, left: Left) -> tuple[State, Plan]:
        """The state with which a phase begins, and how it is cut into blocks."""
        state = self._placed(self._entered(number, left, loop.enter))
        if left.chain is None and (bad := states.first_nonfinite(self._readable(state.chain))) is not None:
            raise Diverged(
                f"the start is not finite ({bad}): "
                "check the scale of the inputs and of the prior, or give another start"
            )
        plan = self.plan(number, state)
        return self._placed(self._with_flight(self.phases[number].arrays(), state, plan)), plan

    def _entered(self, number: int, left: Left, enter: Callable[..., State] = loop.entered) -> State:
        phase = self.phases[number].arrays()
        return enter(self.posterior, phase, left, self.start.key, np.uint32(number))

    def plan(self, number: int, state: State) -> Plan:
        """How a phase is cut, from the length that its units have when it begins."""
        phase = self.phases[number].arrays()
        steps = int(phase.steps(self.posterior, state.shared))
        batch = self.posterior.size if phase.batch is None else phase.batch
        return Plan.of(steps, self.block_steps or steps_per_block(self.posterior, self.method.chains, batch))

    def leave(self, number: int, state: State, left: Left) -> Left:
        """What a phase that ended hands to the next."""
        return loop.leave(self.posterior, self.phases[number].arrays(), state, left.distribution)

    def _with_flight(self, phase: Phase, state: State, plan: Plan) -> State:
        return state if plan.whole else loop.with_flight(self.posterior, phase, state)

    def _placed(self, state: State) -> State:
        return state if self.mesh is None else placement.place_state(state, self.mesh)

    def _readable(self, tree: Any) -> Any:
        """What this process can read; of several processes all take part."""
        return tree if self.crew.alone else placement.gathered(tree, self.mesh)

    def form(self, number: int, plan: Plan) -> State:
        """Shapes and types of the state within a phase, without computing anything."""

        def entered(left: Left) -> State:
            for earlier in range(number):
                if self.phases[earlier].units:
                    left = self.leave(earlier, self._entered(earlier, left), left)
            return self._with_flight(self.phases[number].arrays(), self._entered(number, left), plan)

        return jax.eval_shape(entered, self.start.form)

    # Blocks

    def work(self, sink: Sink) -> Iterator[tuple[Block, dict[str, Memory]]]:
        """Make and save every block that is missing; gives each with the observers' memories after it.

        A block is saved while the device is at the next one already.
        """
        memories = self.memories
        memories.update({observer.name: observer.init(self.observed) for observer in self.observers})
        with ThreadPoolExecutor(1, initializer=_give_way) as saver:
            saving: Future[dict[str, Memory]] | None = None
            saved: Block | None = None
            for made in self.blocks(sink, memories):
                if saving is not None and saved is not None:
                    memories.update(saving.result())
                    yield saved, memories
                saving, saved = saver.submit(self.save, sink, made, dict(memories)), made
            if saving is not None and saved is not None:
                memories.update(saving.result())
                yield saved, memories

    def blocks(self, sink: Sink, memories: dict[str, Memory]) -> Iterator[Block]:
        """The blocks that are missing, dispatched one after the other."""
        cursor, plan, state, left = Cursor(), None, None, None
        last = max((n for n, phase in enumerate(self.phases) if phase.units), default=0)
        if sink.blocks:
            ended = Cursor.read(sink.entries[-1]["cursor"])
            if (ended.phase, ended.unit) == (last, self.phases[last].units) and not self.observers:
                return  # and nobody asks for a state that may take gigabytes
            cursor, plan, state, left = self.restored(sink, memories)
        for number, phase in enumerate(self.phases):
            if number < cursor.phase or not phase.units:
                continue
            if number > cursor.phase or state is None or plan is None:
                state, plan = self.begin(number, left or self.start.left)
                cursor = Cursor(number, drawn=cursor.drawn)
            if self.observers and self.method.forward in FITTED and left is not None:
                self._law = self._readable(left.distribution)
            while cursor.unit < phase.units:
                saves, stops = self._order(state)
                made = self.advance(number, cursor, state, plan)
                state, cursor = made.state, made.after
                if cursor.unit == phase.units:
                    left = self.leave(number, state, left or self.start.left)
                    fitted = self._readable(left.distribution) if phase.overrides("fit") else None
                    made = dataclasses.replace(made, distribution=fitted, last=number == last)
                if not self.crew.alone:
                    whole = self._readable(state) if saves or made.last else None
                    made = dataclasses.replace(made, whole=whole, stops=stops)
                yield made

    def _order(self, state: State) -> tuple[bool, bool]:
        """Of several processes, what the first decides before a block: whether the state after it is stored,
        and whether all stop then."""
        if self.crew.alone:
            return False, False
        if self.crew.leads:
            stops = self.crew.asked_to_stop() or self.stopping()
            saves = stops or self._due(state)
            return self.crew.said((saves, stops))
        saves, stops = self.crew.said(meanwhile=self._ask)
        return saves, stops

    def _ask(self) -> None:
        if self.stopping():
            self.crew.ask_to_stop()

    def restored(self, sink: Sink, memories: dict[str, Memory]) -> tuple[Cursor, Plan, State, Left]:
        """Where a run that was stopped goes on; the observers' `memories` are filled in."""
        entry = sink.entries[-1]
        cursor, plan = Cursor.read(entry["cursor"]), Plan(**entry["plan"])
        like = (self.form(cursor.phase, plan), memories)
        state, remembered = states.from_arrays(sink.state(), like)
        state, left = self._placed(state), Left(None)
        memories.update(remembered)
        if sink.distribution is not None:
            fitted = from_arrays(sink.distribution)
            assert isinstance(fitted, Mixture), "a run keeps its chains' distributions as a mixture"
            left = Left(None, distribution=fitted.components)
        if cursor.unit == self.phases[cursor.phase].units:
            left = self.leave(cursor.phase, state, left)
        return cursor, plan, state, left

    def advance(self, number: int, cursor: Cursor, state: State, plan: Plan) -> Block:
        """The next block of a phase, dispatched."""
        phase, before = self.phases[number], sum(earlier.units for earlier in self.phases[:number])
        units, after = plan.next(cursor, phase, self.slots)
        work = plan.work(cursor, units, phase, before, self.slots)
        state, record = loop.program(self.posterior, phase)(
            self.posterior, phase.arrays(), state, work, slots=self.slots, whole=plan.whole
        )
        complete = units if after.piece == 0 else []
        kept = work.kept[: len(complete)]
        if not self.crew.alone:
            record = self._readable(record.part(drawn=kept.any(), done=bool(complete)))
        seen = {}
        if kept.any():
            passes = Passes(self.method.forward, self._law, record.drawn.get("key"))
            seen = {o.name: o.look(self.observed, record.variables, passes) for o in self.observers}
        return Block(phase, plan, record, complete, kept, cursor.drawn, after, state, seen)

    def save(self, sink: Sink, made: Block, memories: dict[str, Memory]) -> dict[str, Memory]:
        """Check a block, let the observers remember it, and commit it."""
        count = int(made.kept.sum())
        traces = _cut(made.record.traces, len(made.units))
        variables, own, seen = _cut((made.record.variables, made.record.drawn, made.seen), count)
        statistics = own | {name: np.ascontiguousarray(trace[:, made.kept]) for name, trace in traces.items()}
        self._require_finite(sink.blocks, {"trace": traces, "draw": variables, "statistics": statistics})
        statistics["mode"] = np.repeat(self.start.modes[:, None], count, axis=1)
        if count:
            memories = {
                o.name: o.update(self.observed, memories[o.name], seen[o.name]) for o in self.observers
            }
        stored = _thinned(made.first, count, self.keep)
        part = slice(stored.start, stored.stop, stored.step)
        drawn = named_arrays(variables, statistics) if stored else {}
        shown = [name for name in made.phase.shown if made.units and name in traces]
        sink.commit(
            {name: np.ascontiguousarray(array[:, part]) for name, array in drawn.items()},
            len(stored),
            cursor=made.after.record(),
            plan=dataclasses.asdict(made.plan),
            state=self._state(made, memories),
            traces=traces if made.units else None,
            distribution=None if made.distribution is None else to_arrays(Mixture(made.distribution)),
            metrics={name: float(traces[name].mean(dtype=np.float64)) for name in shown},
            gradients=self.gradients(made),
        )
        return memories

    def gradients(self, made: Block) -> float:
        """Over all data, what a block took of all chains."""
        return int(made.record.steps) * made.phase.gradients_per_step(self.posterior) * self.method.chains

    def _state(self, made: Block, memories: dict[str, Memory]) -> dict[str, np.ndarray] | None:
        """What is needed to go on, if it is time to store it."""
        if not self.crew.alone:
            return None if made.whole is None else states.to_arrays((made.whole, memories))
        whole = (made.state, memories)
        return states.to_arrays(whole) if self._due(whole, made.last or self.stopping()) else None

    def _due(self, state: Any, anyway: bool = False) -> bool:
        """Whether it is time to store the state, or has to be done anyway."""
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
        now = time.monotonic()
        if now - self._saved < size / STATE_BYTES_PER_SECOND and not anyway:
            return False
        self._saved = now
        return True

    def _require_finite(self, block: int, arrays: Any) -> None:
        if (bad := states.first_nonfinite(arrays)) is not None:
            raise Diverged(
                f"{self.method.name} diverged in block {block}: {bad} is not finite; {self.method.remedy}"
            )


def _cut(tree: Any, count: int) -> Any:
    """The first so many of the second axis, on the host, where that needs no compiling.

    Of none nothing is fetched: the room for a large network's draws takes longer than a block.
    """
    if not count:
        return jax.tree.map(lambda leaf: np.zeros((leaf.shape[0], 0, *leaf.shape[2:]), leaf.dtype), tree)
    return jax.tree.map(lambda leaf: np.ascontiguousarray(np.asarray(leaf)[:, :count]), tree)


def _thinned(first: int, count: int, keep: int) -> range:
    """Every `keep`-th of a block's draws, counted over the whole run and not within the block."""
    return range(-first % keep, count, keep) if keep else range(0)


def _give_way() -> None:
    """Let the calling thread work where cores are idle, not where a block is being computed."""
    if sys.platform == "linux":  # elsewhere a priority is that of the whole process
        with contextlib.suppress(OSError):  # a courtesy, not a need
            os.setpriority(os.PRIO_PROCESS, 0, SAVER_NICENESS)
