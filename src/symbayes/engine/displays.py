"""Where progress is told: a bar in a terminal or a notebook, and lines in a log everywhere else.

Lines go to the logger ``symbayes`` at the level INFO, one every half minute.  Where progress was asked for
and nobody listens to that logger, they go to the standard error.
"""

from __future__ import annotations

import html
import logging
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symbayes.engine.words import duration

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

LOG = logging.getLogger("symbayes")

EVERY = 30.0
"""Seconds between two lines of a log."""

REFRESHES = 2
"""How often a second a bar is drawn: each time takes a core from the run for about a millisecond."""

NARROW, WIDE = 50, 80
"""Columns of a terminal that has room for the rate, and for numbers about the last block."""


@dataclass(frozen=True)
class Standing:
    """How far a run is.

    Attributes:
        done: gradients over all data, of all chains.
        total: the same at the end of the run, as far as is known.
        rate: gradients per second, lately.
        left: seconds to the end.
        taken: seconds since the run was started, or went on.
        note: numbers about the last block.
        before: gradients that had been done by then.
    """

    done: float
    total: float
    rate: float | None
    left: float | None
    taken: float
    note: str = ""
    before: float = 0.0

    @property
    def finished(self) -> bool:
        return self.done >= self.total * (1 - 1e-9)

    @property
    def share(self) -> str:
        """In per cent, and 100 only at the end."""
        percent = 100 * self.done / max(self.total, 1e-9)
        return f"{100 if self.finished else min(99, math.floor(percent))}%"

    @property
    def speed(self) -> str:
        """The rate in words; of a run that has ended, over all the time that it took."""
        rate = (self.done - self.before) / self.taken if self.finished and self.taken else self.rate
        return "" if not rate else f"{rate:,.0f} grad/s" if rate >= 10 else f"{rate:.2g} grad/s"

    @property
    def time(self) -> str:
        """The time left, or at the end that taken."""
        if self.finished:
            return f"took {duration(self.taken)}"
        return "" if self.left is None else f"{duration(self.left)} left"

    @property
    def work(self) -> str:
        """At the end, the gradients that were done; of a run that went on, those since then, of all."""
        since = f"{self.done - self.before:,.0f} of " if self.before else ""
        return f"{since}{self.done:,.0f} gradients" if self.finished else ""

    def __str__(self) -> str:
        parts = [self.share, self.speed, self.time, self.work, self.note]
        return ", ".join(part for part in parts if part)


class Display:
    """Shows nothing; the base of what shows something."""

    def begin(self, now: Standing) -> None: ...

    def step(self, now: Standing) -> None: ...

    def end(self, now: Standing) -> None: ...


def display(name: str, progress: bool | None) -> Display:
    """The display for this process: asked for, not wanted, or by default where a person is looking."""
    if progress is False:
        return Display()
    if in_notebook():
        return NotebookBar(name)
    return TerminalBar(name) if sys.stderr.isatty() else LogLines(name, asked=progress is True)


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class LogLines(Display):
    """A line every half minute, and one at the end."""

    def __init__(self, name: str, asked: bool = False) -> None:
        self._name, self._asked, self._told = name, asked, 0.0

    def step(self, now: Standing) -> None:
        if now.taken - self._told >= EVERY and not now.finished:
            self._told = now.taken
            self._tell(now)

    def end(self, now: Standing) -> None:
        self._tell(now)

    def _tell(self, now: Standing) -> None:
        if self._asked and not (LOG.isEnabledFor(logging.INFO) and LOG.hasHandlers()):
            print(f"{self._name}: {now}", file=sys.stderr, flush=True)
        else:
            LOG.info("%s: %s", self._name, now)


class NotebookBar(Display):
    """One output of a cell, which is replaced as the run goes."""

    def __init__(self, name: str, show: Callable[..., Any] | None = None) -> None:
        self._name, self._show, self._handle, self._shown = name, show, None, -math.inf

    def begin(self, now: Standing) -> None:
        if self._show is None:
            from IPython.display import display as show  # type: ignore[import-not-found]

            self._show = show
        self._handle = self._show(self._bundle(now), raw=True, display_id=True)
        self._shown = now.taken

    def step(self, now: Standing) -> None:
        if now.taken - self._shown >= 1 / REFRESHES:
            self.end(now)

    def end(self, now: Standing) -> None:
        self._shown = now.taken
        if self._handle is not None:
            self._handle.update(self._bundle(now), raw=True)

    def _bundle(self, now: Standing) -> dict[str, str]:
        words = f"{self._name}: {now}"
        share = now.done / max(now.total, 1e-9)
        bar = f'<progress value="{share:.4f}" max="1" style="width:12em"></progress>'
        return {"text/plain": words, "text/html": f"<div>{bar} {html.escape(words)}</div>"}


class TerminalBar(Display):
    """A bar on the standard error, with what there is room for beside it."""

    def __init__(self, name: str) -> None:
        self._name, self._progress, self._task = name, None, None

    def begin(self, now: Standing) -> None:
        self._progress = bars(*self._columns())
        self._task = self._progress.add_task(self._name, **self._fields(now))
        self._progress.start()

    def step(self, now: Standing) -> None:
        assert self._progress is not None
        assert self._task is not None
        self._progress.update(self._task, **self._fields(now))

    def end(self, now: Standing) -> None:
        assert self._progress is not None
        if now.finished:
            self.step(now)
        self._progress.stop()

    @staticmethod
    def _fields(now: Standing) -> dict[str, Any]:
        numbers = {"completed": now.done, "total": now.total}
        return numbers | {"share": now.share, "time": now.time, "rate": now.speed, "note": now.note}

    @staticmethod
    def _columns() -> list[ProgressColumn]:
        from rich.console import Console
        from rich.progress import TextColumn
        from rich.table import Column

        def words(field: str, style: str = "dim") -> ProgressColumn:
            column = Column(no_wrap=True, overflow="ellipsis")
            return TextColumn(f"[{style}]{{task.fields[{field}]}}", table_column=column)

        width = Console(stderr=True).width
        room = ["rate", "note"] if width >= WIDE else ["rate"] if width >= NARROW else []
        return [words("share", "magenta"), words("time", "cyan"), *(words(field) for field in room)]


def bars(*columns: ProgressColumn) -> Progress:
    """Bars on the standard error: what is done, how far it is, and these columns."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("[bold]{task.description:<9}"),
        BarColumn(bar_width=16),
        *columns,
        console=Console(stderr=True),
        refresh_per_second=REFRESHES,
    )
