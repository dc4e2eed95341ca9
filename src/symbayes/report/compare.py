"""Runs side by side: accuracy and calibration of each, and how closely each agrees with a reference.

Beside every agreement stands the ceiling: one half of the reference's draws against the other half,
split by chains where there are several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table as TerminalTable

from symbayes import evaluate
from symbayes.data import Examples, Scaling
from symbayes.engine import open_run
from symbayes.posterior import CategoricalPredictive, GaussianPredictive, Predictive
from symbayes.report.contents import Table
from symbayes.specs import require, require_kind

LEVEL = 0.9
"""Probability of the intervals whose coverage is told."""

CLASSIFICATION: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": evaluate.accuracy,
    "NLL": evaluate.nll,
    "Brier": evaluate.brier,
    "ECE": evaluate.ece,
}
AGREEMENT: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "agreement": evaluate.agreement,
    "TV": evaluate.total_variation,
}
FORMATS = {
    "accuracy": ".1%",
    "NLL": ".3f",
    "Brier": ".3f",
    "ECE": ".3f",
    "agreement": ".1%",
    "TV": ".3f",
    "RMSE": ".4g",
    "coverage": ".1%",
}
BEST = {"accuracy": "higher", "NLL": "lower", "Brier": "lower", "ECE": "lower", "RMSE": "lower"}


@dataclass(frozen=True)
class Comparison:
    """One row of numbers per run, and the ceiling; `print` shows the table."""

    rows: Mapping[str, Mapping[str, float]]
    reference: str
    examples: int

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for row in self.rows.values() for column in row))

    @property
    def caption(self) -> str:
        text = f"On {self.examples:,} examples. NLL in nats."
        if "RMSE" in self.columns:
            text += (
                " RMSE and NLL are of the targets in their own units; coverage is the share of targets "
                f"in the central {LEVEL:.0%} interval."
            )
        if "agreement" not in self.columns:
            return text
        return (
            f"{text} Agreement (share of equal predictions) and TV (total variation) are with "
            f"{self.reference}; the ceiling is one half of its draws against the other."
        )

    def table(self) -> Table:
        """For the page."""
        return Table(
            columns=["run", *self.columns],
            rows=[[name, *(row.get(column) for column in self.columns)] for name, row in self.rows.items()],
            caption=self.caption,
            formats={column: FORMATS[column] for column in self.columns},
            best={c: BEST[c] for c in self.columns if c in BEST},  # type: ignore[misc]
        )

    def __str__(self) -> str:
        console = Console(width=100)
        with console.capture() as captured:
            console.print(self)
        return captured.get()

    def terminal_table(self, turned: bool = False) -> TerminalTable:
        """For the terminal: a row for every run or, `turned`, a column."""
        cells = [
            ["run", *self.columns],
            *(
                [name, *(format(row[c], FORMATS[c]) if c in row else "–" for c in self.columns)]
                for name, row in self.rows.items()
            ),
        ]
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
    runs: Mapping[str, str | Path], reference: str, on: Examples, scaling: Scaling | None = None
) -> Comparison:
    """Compare stored runs on examples that none of them was trained on.

    `scaling` is the dataset's `target_scaling` where its targets are standardised.
    """
    require(reference in runs, f"the reference {reference!r} is not among the runs {', '.join(runs)}")
    require_kind("what the runs are compared on", on, "x", "y", example="dataset.test")
    predictives = {name: open_run(path).predict(on.x) for name, path in runs.items()}
    return compare_predictives(predictives, reference, np.asarray(on.y), scaling)


def compare_predictives(
    predictives: Mapping[str, Predictive], reference: str, y: np.ndarray, scaling: Scaling | None = None
) -> Comparison:
    """The same from predictives that are at hand."""
    rows = {name: measure(predictive, y, scaling) for name, predictive in predictives.items()}
    target = predictives[reference]
    if isinstance(target, CategoricalPredictive):
        for name, predictive in predictives.items():
            if name != reference and isinstance(predictive, CategoricalPredictive):
                rows[name] |= _agreement(predictive.mean, target.mean)
        halves = split(target)
        if halves is not None:
            rows[f"ceiling: half of {reference}"] = _agreement(*halves)
    return Comparison(rows, reference, len(y))


def measure(predictive: Predictive, y: np.ndarray, scaling: Scaling | None = None) -> dict[str, float]:
    """The numbers of one predictive that need no other, in the targets' units before any `scaling`."""
    if isinstance(predictive, GaussianPredictive):
        means, scales = predictive.components
        if scaling is not None:
            means, scales, y = scaling.undo(means), scales * scaling.scale, scaling.undo(y)
        return {
            "RMSE": evaluate.rmse(means.mean(axis=0, dtype=np.float64), y),
            "NLL": evaluate.mixture_nll(means, scales, y),
            "coverage": evaluate.coverage(means, scales, y, LEVEL),
        }
    return {name: metric(predictive.mean, y) for name, metric in CLASSIFICATION.items()}


def split(predictive: CategoricalPredictive) -> tuple[np.ndarray, np.ndarray] | None:
    """The mean predictives of two halves: of the chains, or of the draws of a single chain."""
    probs = predictive.probs
    axis = 0 if probs.shape[0] > 1 else 1
    if probs.shape[axis] < 2:
        return None
    half = probs.shape[axis] // 2
    first, second = np.split(probs, [half], axis=axis)
    return first.mean(axis=(0, 1), dtype=np.float64), second.mean(axis=(0, 1), dtype=np.float64)


def _agreement(p: np.ndarray, q: np.ndarray) -> dict[str, float]:
    return {name: metric(p, q) for name, metric in AGREEMENT.items()}
