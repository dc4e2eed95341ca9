"""Runs side by side: accuracy and calibration of each, and how closely each agrees with a reference.

Beside every agreement stands the ceiling: one half of the reference's draws against the other half,
split by chains where there are several.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table as TerminalTable

from symbayes.brief import html_table
from symbayes.data import Dataset, Examples, Scaling
from symbayes.draws import Draws, Run
from symbayes.engine import Opened, Source, open_run
from symbayes.evaluate import Metric
from symbayes.evaluate.metric import Need
from symbayes.evaluate.metrics import chosen
from symbayes.posterior import Predictive
from symbayes.specs import require, require_kind

CEILING = "one half of the reference's draws against the other"
"""What a row of that name shows."""


@dataclass(frozen=True)
class Comparison:
    """One row of numbers per run, and the ceiling; `print` shows the table.

    Attributes:
        rows: by run, the numbers by the names of the metrics.
        metrics: what is told of the runs, in the order of the columns.
        reference: the run with which the others are compared.
        examples: how many the runs were tried on.
        positions: how many positions each of them has, by axis.
    """

    rows: Mapping[str, Mapping[str, float]]
    metrics: tuple[Metric, ...]
    reference: str
    examples: int
    positions: tuple[int, ...] = ()

    @property
    def told(self) -> list[Metric]:
        """The metrics of which at least one run has a number."""
        return [metric for metric in self.metrics if any(metric.name in row for row in self.rows.values())]

    @property
    def columns(self) -> list[str]:
        return [metric.name for metric in self.told]

    @property
    def title(self) -> str:
        """On what the runs are compared, and with which of them."""
        places = f" with {'x'.join(map(str, self.positions))} positions each" if self.positions else ""
        text = f"On {self.examples:,} examples{places}."
        close = [metric.name for metric in self.told if "reference" in metric.needs]
        if close:
            named = _listed(close)
            text += (
                f" {named[0].upper()}{named[1:]} {'is' if len(close) == 1 else 'are'} with {self.reference}."
            )
        return text

    @property
    def caption(self) -> str:
        """The title, and what a reader of the numbers alone needs to know."""
        text = self.title
        if "NLL" in self.columns:
            text += " NLL in nats."
        if any("reference" in metric.needs for metric in self.told):
            text += f" The ceiling is {CEILING}."
        return text

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = [
            [name, *(format(row[m.name], m.format) if m.name in row else "–" for m in self.told)]
            for name, row in self.rows.items()
        ]
        return html_table(rows, ["run", *self.columns], self.caption)

    def __str__(self) -> str:
        text = io.StringIO()  # and not the output of a notebook's cell
        Console(width=100, file=text, force_jupyter=False, force_terminal=False).print(self)
        return text.getvalue()

    def terminal_table(self, turned: bool = False) -> TerminalTable:
        """For the terminal: a row for every run or, `turned`, a column."""
        cells = [["run", *self.columns]]
        for name, row in self.rows.items():
            numbers = (format(row[m.name], m.format) if m.name in row else "–" for m in self.told)
            cells.append([name, *numbers])
        head, *rows = zip(*cells, strict=True) if turned else cells
        table = TerminalTable(caption=self.caption, caption_justify="left")
        table.add_column(head[0], min_width=9)
        for column in head[1:]:
            table.add_column(column, justify="right", no_wrap=not turned)
        for row in rows:
            table.add_row(*row)
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[TerminalTable]:
        """A narrow terminal gets the turned table, so that no number is cut."""
        wide = self.terminal_table()
        needed = Measurement.get(console, options.update(max_width=1000), wide).minimum
        yield wide if needed <= options.max_width else self.terminal_table(turned=True)


def compare(
    runs: Mapping[str, Source] | Sequence[Source] | Source,
    reference: str | None = None,
    on: Examples | Dataset | None = None,
    scaling: Scaling | None = None,
    *,
    metrics: Sequence[str] | None = None,
    ood: Any = None,
) -> Comparison:
    """Compare runs on examples that none of them was trained on.

    Args:
        runs: folders, or draws in memory as `run` gave them, by name; or a list of them, or a single one.
        reference: the name of the run with which the others are compared; by default the first.
        on: the examples; or a dataset, whose test part they are and whose targets' units are used.
        scaling: the dataset's `target_scaling` where its targets are standardised.
        metrics: names of rows of `evaluate.METRICS`; by default those that are usual for the kind of target.
        ood: inputs from elsewhere, for the metrics that need them.
    """
    opened = opened_by_name(runs)
    require(len(opened) > 0, "a comparison is of at least one run")
    reference = next(iter(opened)) if reference is None else reference
    require(reference in opened, f"the reference {reference!r} is not among the runs {', '.join(opened)}")
    if isinstance(on, Dataset):
        on, scaling = on.test, on.target_scaling if scaling is None else scaling
    require_kind("what the runs are compared on", on, "x", "y", example="dataset.test")
    assert on is not None
    predictives = {name: run.predict(on.x) for name, run in opened.items()}
    foreign = None if ood is None else {name: run.predict(ood) for name, run in opened.items()}
    return compare_predictives(
        predictives, reference, np.asarray(on.y), scaling, metrics=metrics, ood=foreign
    )


def opened_by_name(runs: Mapping[str, Source] | Sequence[Source] | Source) -> dict[str, Opened]:
    """Runs opened, by the names given, or else by those of their folders, or of their methods."""
    if isinstance(runs, str | Path | Run | Draws | Opened):
        runs = [runs]
    if isinstance(runs, Mapping):
        return {name: open_run(run) for name, run in runs.items()}
    opened = [open_run(run) for run in runs]
    names = [run.method.lower() if run.path is None else run.path.resolve().name for run in opened]
    full = [
        name if names.count(name) == 1 else str(run.path or f"{name} {i + 1}")
        for i, (name, run) in enumerate(zip(names, opened, strict=True))
    ]
    return dict(zip(full, opened, strict=True))


def compare_predictives(
    predictives: Mapping[str, Predictive],
    reference: str,
    y: np.ndarray,
    scaling: Scaling | None = None,
    *,
    metrics: Sequence[str] | None = None,
    ood: Mapping[str, Predictive] | None = None,
) -> Comparison:
    """The same from predictives that are at hand; `ood` are those at inputs from elsewhere."""
    target = predictives[reference]
    for name, predictive in predictives.items():
        require(
            predictive.kind == target.kind,
            f"{name} predicts {predictive.kind}, but {reference} {target.kind}: compare runs of one kind",
        )
    given: list[Need] = ["targets"]
    halves = target.halves()
    if len(predictives) > 1 or halves is not None:
        given.append("reference")
    if ood is not None:
        given.append("ood")
    rows = chosen(target.kind, metrics, given)
    found = {
        name: measure(
            predictive,
            y,
            scaling,
            rows,
            reference=None if name == reference else target,
            ood=None if ood is None else ood[name],
        )
        for name, predictive in predictives.items()
    }
    close = [row for row in rows if row.needs == ("reference",)]
    if halves is not None and close:
        first, second = halves
        found[f"ceiling: half of {reference}"] = measure(first, y, scaling, close, reference=second)
    return Comparison(found, rows, reference, len(y), target.positions)


def measure(
    predictive: Predictive,
    y: np.ndarray,
    scaling: Scaling | None = None,
    metrics: Sequence[Metric] | None = None,
    *,
    reference: Predictive | None = None,
    ood: Predictive | None = None,
) -> dict[str, float]:
    """The numbers of one predictive, in the targets' units before any `scaling`.

    What cannot be told is left out: an agreement without a reference, what takes several draws of one.
    """
    if scaling is not None:
        predictive, y = predictive.unscaled(scaling), scaling.undo(y)
        reference = None if reference is None else reference.unscaled(scaling)
        ood = None if ood is None else ood.unscaled(scaling)
    others: dict[Need, Any] = {"targets": y, "reference": reference, "ood": ood}
    given: list[Need] = [need for need, value in others.items() if value is not None]
    rows = chosen(predictive.kind, None, given) if metrics is None else metrics
    return {
        row.name: row.of(predictive, y, reference, ood) for row in rows if row.possible(predictive, given)
    }


def _listed(names: Sequence[str]) -> str:
    """As a person says it: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
