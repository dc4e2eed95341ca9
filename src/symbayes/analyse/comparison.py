"""The table of a comparison: its numbers, and how it is shown in a terminal and a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table as TerminalTable

from symbayes.analyse import tables
from symbayes.brief import html_table
from symbayes.evaluate import Metric
from symbayes.evaluate.metric import written
from symbayes.specs import Record

CEILING = "one half of the reference's draws against the other"
"""What a row of that name shows."""
CEILING_ROW = "ceiling: "
"""How its name begins."""


@dataclass(frozen=True)
class Comparison:
    """A table with a row of numbers for each run and one for the ceiling; `print` shows it, `save` writes it.

    Attributes:
        rows: by run, the numbers by the names of the metrics.
        metrics: the metrics, in the order of the columns.
        reference: the run with which the others are compared.
        examples: the number of test examples.
        positions: the number of positions of each example, by axis.
        margins: by run, half of the 95% interval of each number over test examples; nan if not known.
        best: by metric, the run with the best number and those not significantly different from it.
        notes: sentences for the caption.
    """

    rows: Mapping[str, Mapping[str, float]]
    metrics: tuple[Metric, ...]
    reference: str
    examples: int
    positions: tuple[int, ...] = ()
    margins: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    best: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> list[Metric]:
        """The metrics for which at least one run has a number."""
        return [metric for metric in self.metrics if any(metric.name in row for row in self.rows.values())]

    @property
    def columns(self) -> list[str]:
        return [metric.name for metric in self.told]

    def margin(self, run: str, metric: str) -> float | None:
        """Half of the 95% interval, if it is known."""
        found = self.margins.get(run, {}).get(metric, float("nan"))
        return found if isfinite(found) else None

    def text(self, run: str, metric: Metric, margins: bool = True, mark: str = "*") -> str:
        """The text of a cell: the number, its margin, and a mark for the best."""
        if metric.name not in self.rows[run]:
            return "–"
        words, margin = written(self.rows[run][metric.name], metric.format), self.margin(run, metric.name)
        if margins and margin is not None:
            words += f" ±{written(margin, metric.format).rstrip('%')}"
        return words + mark if run in self.best.get(metric.name, ()) else words

    @property
    def untold(self) -> str:
        """Why some runs have no number in a column, in words; empty where all have one."""
        reasons = []
        for run, row in self.rows.items():
            for metric in [] if run.startswith(CEILING_ROW) else self.told:
                if metric.name in row:
                    continue
                if "reference" in metric.needs:
                    reasons.append(f"{self.reference} is not compared with itself")
                elif "draws" in metric.needs:
                    reasons.append("the metric takes several draws and the run predicts with one")
                else:
                    reasons.append("energies are defined for logits and the run has other outputs")
        return "; ".join(dict.fromkeys(reasons))

    @property
    def title(self) -> str:
        """A sentence that says on which examples, and with which reference, the runs are compared."""
        places = f" with {'x'.join(map(str, self.positions))} positions each" if self.positions else ""
        text = f"On {self.examples:,} examples{places}."
        close = [metric.name for metric in self.told if "reference" in metric.needs]
        if close:
            named = _listed(close)
            text += (
                f" {named[0].upper()}{named[1:]} {'is' if len(close) == 1 else 'are'} with {self.reference}."
            )
        return " ".join([text, *self.notes])

    @property
    def caption(self) -> str:
        """The title, with explanations of the marks and the units."""
        return self._captioned(margins=True)

    def _captioned(self, margins: bool) -> str:
        text = self.title
        if "NLL" in self.columns:
            text += " NLL in nats."
        if any("reference" in metric.needs for metric in self.told):
            text += f" The ceiling is {CEILING}."
        if self.margins and margins:
            text += " ± is half of the 95% interval over test examples."
        if self.untold:
            text += f" A – means that there is no number: {self.untold}."
        if self.best:
            text += " A * marks the best run and those not significantly different from it."
        return text

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = [[name, *(self.text(name, metric) for metric in self.told)] for name in self.rows]
        return html_table(rows, ["run", *self.columns], self.caption)

    def __str__(self) -> str:
        text = io.StringIO()  # and not the output of a notebook's cell
        Console(width=100, file=text, force_jupyter=False, force_terminal=False).print(self)
        return text.getvalue()

    def terminal_table(
        self, turned: bool = False, margins: bool = True, metrics: Sequence[Metric] | None = None
    ) -> TerminalTable:
        """The table for the terminal: a row for every run or, if `turned`, a column.

        With `metrics`, it has only these, and no caption.
        """
        told = self.told if metrics is None else metrics
        cells = [["run", *(metric.name for metric in told)]]
        names = [name for name, row in self.rows.items() if any(metric.name in row for metric in told)]
        cells += [[name, *(self.text(name, metric, margins) for metric in told)] for name in names]
        head, *rows = zip(*cells, strict=True) if turned else cells
        caption = self._captioned(margins) if metrics is None else None
        table = TerminalTable(caption=caption, caption_justify="left")
        table.add_column(head[0], min_width=9)
        for number, column in enumerate(head[1:], start=1):
            # A column that is not broken into lines takes its longest cell, and not its longest word.
            longest = None if turned else max(len(row[number]) for row in (head, *rows))
            table.add_column(column, justify="right", no_wrap=not turned, min_width=longest)
        for row in rows:
            table.add_row(*row)
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[TerminalTable | str]:
        """No number is cut in a narrow terminal: margins are left out, then the table is turned, and if that
        is still too wide, it is split into several."""
        for margins in (True, False) if self.margins else (False,):
            wide = self.terminal_table(margins=margins)
            needed = _needed(wide, console, options)
            # Margins are left out before names of runs are broken into lines.
            if (needed.maximum if margins else needed.minimum) <= options.max_width:
                yield wide
                return
        turned = self.terminal_table(turned=True)
        if _needed(turned, console, options).minimum <= options.max_width:
            yield turned
            return
        yield from self._below_one_another(console, options)
        yield self._captioned(margins=True)

    def _below_one_another(self, console: Console, options: ConsoleOptions) -> Iterator[TerminalTable]:
        """Tables with as many columns as fit, at least one."""
        some: list[Metric] = []
        for metric in self.told:
            wider = self.terminal_table(metrics=[*some, metric])
            if some and _needed(wider, console, options).maximum > options.max_width:
                yield self.terminal_table(metrics=some)
                some = []
            some.append(metric)
        yield self.terminal_table(metrics=some)

    def markdown(self) -> str:
        """The table in Markdown, with the best in bold."""
        return tables.markdown(self)

    def csv(self) -> str:
        """The table as comma-separated values: a column for each number and one for each margin."""
        return tables.csv_text(self)

    def latex(self) -> str:
        """The table as a tabular of LaTeX, with the best in bold."""
        return tables.latex(self)

    def numbers(self) -> Record:
        """The numbers, the margins and the names of the best runs, for JSON."""
        return tables.numbers(self)

    def to_pandas(self, margins: bool = False) -> Any:
        """The numbers, or their margins, as a DataFrame with a row for each run."""
        return tables.to_pandas(self, margins)

    def save(self, path: str | Path) -> Path:
        """Write the table in the format of the file's ending (.md, .csv, .tex or .json); returns the path."""
        return tables.save(self, Path(path))


def _needed(table: TerminalTable, console: Console, options: ConsoleOptions) -> Measurement:
    return Measurement.get(console, options.update(max_width=10_000), table)


def _listed(names: Sequence[str]) -> str:
    """The names in one phrase: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
