"""The reference of the metrics, written from their table.

    python -m symbayes.evaluate.reference docs/reference/metrics.md

puts it between the two marks of the page; a test checks that the page is up to date.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from symbayes.evaluate.metric import NEEDS, Metric
from symbayes.evaluate.metrics import METRICS

BEGIN, END = "<!-- METRICS begins -->", "<!-- METRICS ends -->"
HEAD = (
    "| metric | what it is | function | better | needs | reference |\n| --- | --- | --- | --- | --- | --- |"
)
TITLES = {"classes": "Classes", "reals": "Real targets"}


def markdown() -> str:
    """A table for each kind of predictive, in the order of METRICS."""
    parts = []
    for kind, title in TITLES.items():
        rows = "\n".join(_row(metric) for metric in METRICS if kind in metric.kinds)
        parts.append(f"### {title}\n\n{HEAD}\n{rows}")
    return "\n\n".join(parts)


def written(page: str) -> str:
    """The page with the reference between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no marks {BEGIN} and {END}: put them where the reference belongs")
    return f"{before}{BEGIN}\n\n{markdown()}\n\n{END}{after}"


def _row(metric: Metric) -> str:
    named = f"`{metric.name}`" + ("" if metric.shown else " (if named)")
    signature = ", ".join(inspect.signature(metric.function).parameters)
    near = isinstance(metric.better, float)
    better = f"near {metric.better:{metric.format}}" if near else str(metric.better or "–")
    needs = ", ".join(NEEDS[need] for need in metric.needs)
    function = f"`{metric.function.__name__}({signature})`"
    cells = (named, metric.description, function, better, needs or "–", metric.paper or "–")
    return f"| {' | '.join(cells)} |"


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        path.write_text(written(path.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
