"""The columns of a comparison: each metric at each set of inputs, and which number is best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbayes.analyse.comparison import CEILING_ROW, Comparison
from symbayes.analyse.predicted import Judged
from symbayes.evaluate import Metric, bootstrap
from symbayes.evaluate.metric import Need
from symbayes.evaluate.metrics import chosen
from symbayes.posterior import Predictive

Told = dict[str, tuple[float, np.ndarray | None]]
"""By column, the number and its values on samples of the examples."""


@dataclass(frozen=True)
class Column:
    """A metric at one set of inputs: the test inputs, shifted test inputs, or out-of-distribution inputs."""

    metric: Metric
    shifted: str | None = None
    ood: str | None = None

    @property
    def headed(self) -> Metric:
        """The metric, with the name that is shown at the head of the column."""
        where = self.shifted or self.ood
        return self.metric if where is None else replace(self.metric, name=f"{self.metric.name} ({where})")

    def predictive(self, judged: Judged) -> Predictive:
        """The predictive that is measured, except for out-of-distribution inputs."""
        return judged.test if self.shifted is None else judged.shifted[self.shifted]


def rows_of(target: Judged, reference: bool, ood: bool, metrics: Sequence[str] | None) -> tuple[Metric, ...]:
    """The metrics with these names, or the usual ones for the data that are given."""
    there: dict[Need, bool] = {
        "targets": True,
        "reference": reference,
        "ood": ood,
        "validation": target.validation is not None,
    }
    given: list[Need] = [need for need, found in there.items() if found]
    return chosen(target.test.kind, metrics, given, bool(target.test.positions))


def columns_of(rows: Sequence[Metric], shifted: Collection[str], ood: Collection[str]) -> list[Column]:
    """Every metric at every set of inputs where it is defined.

    A single set of out-of-distribution inputs is not named in the heads of the columns.
    """
    plain = [Column(row) for row in rows if "ood" not in row.needs]
    names = [None] if len(ood) < 2 else list(ood)
    foreign = [Column(row, ood=name) for name in names for row in rows if "ood" in row.needs]
    scores = [row for row in rows if "targets" in row.needs and {*row.needs} <= {"targets", "draws"}]
    return [*plain, *(Column(row, shifted=name) for name in shifted for row in scores), *foreign]


def close_to_reference(rows: Sequence[Metric]) -> list[Column]:
    """The columns for which the ceiling is computed."""
    return [Column(row) for row in rows if row.needs == ("reference",)]


def table(
    found: Mapping[str, Told],
    ceiling: Told,
    columns: Sequence[Column],
    target: Judged,
    reference: str,
    examples: int,
    notes: Sequence[str],
    intervals: bool,
) -> Comparison:
    """The comparison of runs with these numbers; it has no row for the ceiling where `ceiling` is empty."""
    rows = dict(found) | ({f"{CEILING_ROW}half of {reference}": ceiling} if ceiling else {})
    values = {name: {column: value for column, (value, _) in row.items()} for name, row in rows.items()}
    margins = {
        name: {column: bootstrap.margin(spread) for column, (_, spread) in row.items()}
        for name, row in rows.items()
        if intervals
    }
    best = _best(columns, found) if intervals else {}
    headed = tuple(column.headed for column in columns)
    return Comparison(values, headed, reference, examples, target.test.positions, margins, best, tuple(notes))


def _best(columns: Sequence[Column], found: Mapping[str, Told]) -> dict[str, tuple[str, ...]]:
    """For each column, the run with the best number and those not significantly different from it."""
    best = {}
    for metric in (column.headed for column in columns):
        runs = [run for run, told in found.items() if metric.name in told]
        if metric.better is None or len(runs) < 2:
            continue
        losses = {run: _loss(metric, found[run][metric.name][0]) for run in runs}
        spreads = {run: found[run][metric.name][1] for run in runs}
        first = min(runs, key=lambda run: losses[run])
        best[metric.name] = tuple(
            run
            for run in runs
            if not bootstrap.told_apart(
                losses[run] - losses[first], _loss(metric, spreads[run]), _loss(metric, spreads[first])
            )
        )
    return best


def _loss(metric: Metric, value: Any) -> Any:
    """A number that is smaller where the metric is better."""
    if value is None:
        return None
    if isinstance(metric.better, str):
        return -value if metric.better == "higher" else value
    return np.abs(value - metric.better)
