"""Progress with rate and time left, and stopping cleanly on Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from symbayes.engine.job import Block, Job
from symbayes.engine.method import phase_cost
from symbayes.engine.plan import Cursor
from symbayes.engine.sinks import Sink

REFRESHES = 2
"""How often a second the bar is drawn: each time takes a core from the run for about a millisecond."""

NARROW, WIDE = 50, 80
"""Columns of a terminal that has room for the rate, and for numbers about the last block."""


def bars(*columns: ProgressColumn, visible: bool = True) -> Progress:
    """Bars on the standard error: what is done, how far it is, and these columns."""
    return Progress(
        TextColumn("[bold]{task.description:<9}"),
        BarColumn(bar_width=16),
        *columns,
        console=Console(stderr=True),
        refresh_per_second=REFRESHES,
        disable=not visible,
    )


class WordColumn(ProgressColumn):
    """What the time beside it is: that left, or at the end that taken."""

    def render(self, task: Task) -> Text:
        return Text("took" if task.finished else "left", style="dim")


class RateColumn(ProgressColumn):
    """Full-data gradients per second, over all chains."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if not speed else f"{speed:,.0f} grad/s", style="dim")


class Bar:
    """A progress bar over the gradients of a run; silent where it is not wanted.

    How long a phase's units are is known when it begins: until then they count as expected.
    """

    def __init__(self, job: Job, into: Sink, visible: bool) -> None:
        self._job = job
        self._costs = [phase_cost(phase, job.posterior) for phase in job.phases]
        self._done = self._at(Cursor.read(into.entries[-1]["cursor"]) if into.blocks else Cursor(), 1)
        self._progress = bars(
            TaskProgressColumn(),
            WordColumn(),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            *self._details(),
            visible=visible and self.share < 1,
        )
        self._task = self._progress.add_task(job.method.name, total=self._total, note="")
        self._progress.update(self._task, completed=self._done)

    @property
    def _total(self) -> float:
        last = len(self._costs) - 1
        return self._at(Cursor(last, self._job.phases[last].units), 1)

    @property
    def share(self) -> float:
        """How much of the run is done."""
        return self._done / max(self._total, 1e-9)

    def _at(self, cursor: Cursor, pieces: int) -> float:
        """Gradients of all chains up to here."""
        before = sum(
            cost * phase.units
            for cost, phase in zip(self._costs[: cursor.phase], self._job.phases, strict=False)
        )
        here = self._costs[cursor.phase] * (cursor.unit + cursor.piece / pieces)
        return (before + here) * self._job.method.chains

    def _details(self) -> list[ProgressColumn]:
        """What there is room for beside the bar."""
        rate = RateColumn(table_column=Column(no_wrap=True))
        note = TextColumn("[dim]{task.fields[note]}", table_column=Column(no_wrap=True, overflow="ellipsis"))
        width = Console(stderr=True).width
        return [rate, note] if width >= WIDE else [rate] if width >= NARROW else []

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def step(self, made: Block, metrics: Mapping[str, float]) -> None:
        """One more block is done."""
        self._costs[made.after.phase] = made.plan.steps * made.phase.gradients_per_step(self._job.posterior)
        self._done = self._at(made.after, made.plan.pieces)
        note = "  ".join(f"{name.replace('_', ' ')} {value:.2g}" for name, value in metrics.items())
        self._progress.update(self._task, total=self._total, completed=self._done, note=note)


def wanted(progress: bool | None) -> bool:
    """Show progress if asked to, and by default where a person is looking."""
    return sys.stderr.isatty() if progress is None else progress


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
