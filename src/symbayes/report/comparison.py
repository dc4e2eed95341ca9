"""The table of a comparison for the page."""

from __future__ import annotations

from symbayes.analyse import Comparison
from symbayes.analyse.comparison import CEILING, CEILING_ROW
from symbayes.evaluate import Metric
from symbayes.report.contents import Table
from symbayes.report.words import listed


def comparison_table(comparison: Comparison) -> Table:
    """A table with a row for every run, and with notes that explain the columns."""
    told = comparison.told
    ceiling = {"ceiling": CEILING} if any(name.startswith(CEILING_ROW) for name in comparison.rows) else {}
    margin = {"±": "half of the 95% interval over test examples"} if comparison.margins else {}
    untold = {"–": f"no number: {comparison.untold}"} if comparison.untold else {}
    return Table(
        columns=["run", *comparison.columns],
        rows=[
            [name, *(row.get(column) for column in comparison.columns)]
            for name, row in comparison.rows.items()
        ],
        caption=comparison.title,
        formats={metric.name: metric.format for metric in told},
        best={name: runs for name, runs in comparison.best.items() if name in comparison.columns},
        margins=comparison.margins,
        notes={base_name(metric.name): metric.description for metric in told} | ceiling | margin | untold,
    )


def base_name(column: str) -> str:
    """The name of a metric without the set of inputs in brackets."""
    return column.partition(" (")[0]


def good(metrics: list[Metric]) -> str:
    """Which way is better, in words: high accuracy, low NLL and ECE, and a coverage near 90%."""
    named = {base_name(metric.name): metric for metric in metrics}
    ways = {way: [name for name, one in named.items() if one.better == way] for way in ("higher", "lower")}
    parts = [
        f"{word} {listed(ways[way])}" for way, word in (("higher", "high"), ("lower", "low")) if ways[way]
    ]
    parts += [
        f"a {name} near {metric.better:{metric.format.replace('.1', '.0')}}"
        for name, metric in named.items()
        if isinstance(metric.better, float)
    ]
    return listed(parts)
