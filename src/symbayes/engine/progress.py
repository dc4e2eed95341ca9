"""Progress with rate and time left, and stopping cleanly on Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

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
        per_block = task.fields["gradients"] / max(task.total or 1, 1)
        return Text("" if not speed else f"{speed * per_block:,.0f} grad/s", style="dim")


class Bar:
    """A progress bar over the blocks of a run; silent where it is not wanted."""

    def __init__(self, description: str, blocks: int, done: int, gradients: float, visible: bool) -> None:
        self._progress = bars(
            TaskProgressColumn(),
            WordColumn(),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            *self._details(),
            visible=visible,
        )
        self._task = self._progress.add_task(
            description, total=blocks, completed=done, gradients=gradients, note=""
        )

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

    def step(self, metrics: Mapping[str, Any]) -> None:
        """One more block is done."""
        numbers = {name: value for name, value in metrics.items() if isinstance(value, float)}
        note = "  ".join(f"{name.replace('_', ' ')} {value:.2g}" for name, value in numbers.items())
        self._progress.update(self._task, advance=1, note=note)


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
