"""The work of a run, block by block: for each group of chains, blocks made, checked, observed and saved.

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

from symbayes.distributions import Mixture, from_arrays, to_arrays
from symbayes.draws.draws import named_arrays
from symbayes.draws.forward import FITTED
from symbayes.engine import loop, states
from symbayes.engine.course import Course, Diverged
from symbayes.engine.loop import Record, State
from symbayes.engine.observers import Memory, Observer
from symbayes.engine.phase import Left, Phase
from symbayes.engine.plan import Cursor, Plan
from symbayes.engine.sinks import Sink
from symbayes.posterior import Posterior
from symbayes.posterior.forwards import Passes, predicting

SAVER_NICENESS = 10
"""Of the thread that saves: on a CPU it would else hold up the threads that compute the next block."""

STATE_BYTES_PER_SECOND = 2e7
"""State is saved so seldom that it takes no more of the disk than this, and at the end of the run."""


@dataclass(frozen=True)
class Block:
    """What a block made, and where the run is after it.

    Attributes:
        record: arrays that may still be under way.
        units: numbers, within the phase, of the units that are complete; none for a piece of one.
        kept: which of these end in draws.
        first: number of the first of these draws, counted in each chain.
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
class Job(Course):
    """The course of a run, with what follows it.

    `stopping` says whether the run is about to stop: then the state of the block at hand is stored.
    """

    observers: tuple[Observer, ...] = ()
    keep: int = 1
    stopping: Callable[[], bool] = lambda: False
    memories: dict[str, Memory] = field(init=False, default_factory=dict)
    observed: Posterior = field(init=False)
    """The posterior as observers see it: with the likelihood that predictions are of."""
    _law: Any = field(init=False, default=None)
    _saved: float = field(init=False, default=-np.inf)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.observed = copy.copy(self.posterior)
        self.observed.likelihood = predicting(self.posterior.likelihood, self.method.forward)

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
        ended = Cursor.read(sink.entries[-1]["cursor"]) if sink.blocks else Cursor()
        if not sink.blocks:
            yield from self._of_group(ended)
        elif self._is_last(ended) and not self.observers:
            return  # and nobody asks for a state that may take gigabytes
        else:
            yield from self._of_group(ended, *self.restored(sink, memories))
        for group in range(ended.group + 1, len(self.groups)):
            yield from self._of_group(Cursor(group=group))

    def _is_last(self, cursor: Cursor) -> bool:
        """Whether nothing is left to do."""
        last = max((n for n, phase in enumerate(self.phases) if phase.units), default=0)
        end = (len(self.groups) - 1, last, self.phases[last].units)
        return (cursor.group, cursor.phase, cursor.unit) == end

    def _of_group(
        self, cursor: Cursor, plan: Plan | None = None, state: State | None = None, left: Left | None = None
    ) -> Iterator[Block]:
        """The blocks of a group of chains from here on."""
        for number, phase in enumerate(self.phases):
            if number < cursor.phase or not phase.units:
                continue
            if number > cursor.phase or state is None or plan is None:
                state, plan = self.begin(number, left, cursor.group)
                cursor = Cursor(number, drawn=cursor.drawn, group=cursor.group)
                if left is not None:
                    left = Left(None, distribution=left.distribution)  # the rest would only take memory
            if self.observers and self.method.forward in FITTED and left is not None:
                self._law = self._readable(left.distribution)
            while cursor.unit < phase.units:
                saves, stops = self._order(state)
                made = self.advance(number, cursor, state, plan)
                state, cursor = made.state, made.after
                if cursor.unit == phase.units:
                    left = self.leave(number, state, left)
                    fitted = self._readable(left.distribution) if phase.overrides("fit") else None
                    made = dataclasses.replace(made, distribution=fitted, last=self._is_last(cursor))
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

    def restored(self, sink: Sink, memories: dict[str, Memory]) -> tuple[Plan, State, Left]:
        """What a run that was stopped goes on with; the observers' `memories` are filled in."""
        entry = sink.entries[-1]
        cursor, plan = Cursor.read(entry["cursor"]), Plan(**entry["plan"])
        like = (self.form(cursor.phase, plan, cursor.group), memories)
        state, remembered = states.from_arrays(sink.state(), like)
        state, left = self._placed(state), Left(None)
        memories.update(remembered)
        if (fitted := sink.fitted(cursor.group)) is not None:
            mixture = from_arrays(fitted)
            assert isinstance(mixture, Mixture), "a run keeps its chains' distributions as a mixture"
            left = Left(None, distribution=mixture.components)
        if cursor.unit == self.phases[cursor.phase].units:
            left = self.leave(cursor.phase, state, left)
        return plan, state, left

    def advance(self, number: int, cursor: Cursor, state: State, plan: Plan) -> Block:
        """The next block of a phase, dispatched."""
        phase, before = self.phases[number], sum(earlier.units for earlier in self.phases[:number])
        units, after = plan.next(cursor, phase, self.slots)
        work = plan.work(cursor, units, phase, before, self.slots, self.groups[cursor.group].start)
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
        chains = self.groups[made.after.group]
        found = {"trace": traces, "draw": variables, "statistics": statistics}
        self._require_finite(sink.blocks, found, chains.start)
        modes = self.start.modes[chains.start : chains.stop]
        statistics["mode"] = np.repeat(modes[:, None], count, axis=1)
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
        """Over all data, what a block took of all its chains."""
        each = int(made.record.steps) * made.phase.gradients_per_step(self.posterior)
        return each * len(self.groups[made.after.group])

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

    def _require_finite(self, block: int, arrays: Any, first: int) -> None:
        if (bad := states.first_nonfinite(arrays, first)) is not None:
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
