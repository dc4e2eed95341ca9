"""How far a run is: gradients done and expected, rate and time left; and stopping cleanly on Ctrl-C.

Gradients are counted, not planned: adaptation changes how long units are, so what is still to come is taken
to cost what the last block's units did, and the estimate is corrected as the run goes.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax

from symbayes.engine.displays import Display, Standing, display
from symbayes.engine.job import Block, Job
from symbayes.engine.method import phase_cost
from symbayes.engine.plan import Cursor
from symbayes.engine.sinks import Sink

WINDOW = 30.0
"""Seconds over which the rate is taken."""


class Meter:
    """Counts the gradients of a run and tells a display how far it is."""

    def __init__(
        self,
        job: Job,
        into: Sink,
        progress: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
        shown: Display | None = None,
    ) -> None:
        self._job, self._clock = job, clock
        self._costs = [phase_cost(phase, job.posterior) for phase in job.phases]
        self._programs = [jax.tree.structure(phase) for phase in job.phases]
        self._done = into.gradients
        begin = Cursor.read(into.entries[-1]["cursor"]) if into.blocks else Cursor()
        self._coming = self._after(begin, 1)
        self._began, self._before = self._clock(), self._done
        self._seen = deque([(self._began, self._done)])
        self._shown = shown or display(job.method.name, progress if self._coming else False)

    @property
    def share(self) -> float:
        """How much of the run is done."""
        return self._done / max(self._done + self._coming, 1e-9)

    @property
    def rate(self) -> float | None:
        """Gradients over all data per second, of all chains; None before any is done."""
        (begin, before), (end, after) = self._seen[0], self._seen[-1]
        return (after - before) / (end - begin) if after > before and end > begin else None

    def standing(self, note: str = "") -> Standing:
        """What is told of the run now."""
        rate = self.rate
        left = None if rate is None else self._coming / rate
        total, taken = self._done + self._coming, self._clock() - self._began
        return Standing(self._done, total, rate, left, taken, note, self._before)

    def __enter__(self) -> Meter:
        self._shown.begin(self.standing())
        return self

    def __exit__(self, *error: object) -> None:
        self._shown.end(self.standing())

    def step(self, made: Block, entry: Mapping[str, Any]) -> None:
        """One more block is done, which the journal tells of as `entry`."""
        self._learn(made, entry["gradients"])
        self._done += entry["gradients"]
        self._coming = self._after(made.after, made.plan.pieces)
        now = self._clock()
        # The first block was compiled too: the rate is that of those after it, once there are some.
        if len(self._seen) > 1 and self._seen[0][0] == self._began:
            self._seen.popleft()
        self._seen.append((now, self._done))
        while len(self._seen) > 2 and self._seen[1][0] < now - WINDOW:
            self._seen.popleft()
        metrics = entry["metrics"].items()
        self._shown.step(
            self.standing("  ".join(f"{name.replace('_', ' ')} {value:.2g}" for name, value in metrics))
        )

    def _learn(self, made: Block, gradients: float) -> None:
        """What a unit costs, from the block at hand; phases that run the same program cost the same."""
        units = len(made.units) if made.plan.whole else 1 / made.plan.pieces
        program = self._programs[made.after.phase]
        for number in range(made.after.phase, len(self._costs)):
            if self._programs[number] == program:
                self._costs[number] = gradients / units / len(self._job.groups[made.after.group])

    def _after(self, cursor: Cursor, pieces: int) -> float:
        """Gradients of all chains from here on."""
        each = [cost * phase.units for cost, phase in zip(self._costs, self._job.phases, strict=True)]
        done = self._costs[cursor.phase] * (cursor.unit + cursor.piece / pieces)
        now, *later = [len(chains) for chains in self._job.groups[cursor.group :]]
        return now * (sum(each[cursor.phase :]) - done) + sum(later) * sum(each)


class Interrupt:
    """Whether someone asked the run to stop."""

    asked = False


@contextlib.contextmanager
def interrupt_after_block() -> Iterator[Interrupt]:
    """Turn the first Ctrl-C (or SIGTERM) into a request to stop after the current block.

    A second one stops at once, which is safe too: the journal holds what is committed.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def ask(number: int, frame: object) -> None:
        if interrupt.asked:
            raise KeyboardInterrupt
        interrupt.asked = True

    previous = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
