"""The page about two trained networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from symbayes.analyse.pairs import FORMS, Pair
from symbayes.report import figures, page
from symbayes.report.contents import Figure, Section, Table
from symbayes.report.provenance import provenance


def pair_tables(pair: Pair) -> list[Table]:
    """Tables of the loss and, for classes, the accuracy at both ends and half-way."""
    caption = "Loss in nats per example; the barrier is its largest rise above the line between the ends."
    if pair.recomputed:
        caption += f" Statistics of normalisers are computed again on {pair.recomputed:,} training examples."
    made = [_table(pair, "loss", "barrier", pair.barrier, ".4f", caption)]
    if pair.drop("raw") is not None:
        caption = "Accuracy; the drop is its largest fall below the line between the ends."
        made.append(_table(pair, "accuracy", "drop", pair.drop, ".1%", caption))
    return made


def _table(
    pair: Pair, metric: str, height: str, of: Callable[[str, str], float | None], form: str, caption: str
) -> Table:
    columns, middle = [metric, "first", "half-way", "second", height], len(pair.t) // 2
    rows: list[list[Any]] = []
    for name in FORMS:
        for part, scores in pair.scores[name].items():
            values = [float(scores[metric][place]) for place in (0, middle, -1)]
            rows.append([f"{name}, {part}", *values, of(name, part)])
    return Table(columns, rows, caption, dict.fromkeys(columns[1:], form))


def pair_page(pair: Pair, names: tuple[str, str], data: str) -> str:
    """The page as one HTML document."""
    items: list[Table | Figure] = [*pair_tables(pair)]
    lines = {form: (pair.t, pair.scores[form]["test"]["loss"]) for form in FORMS}
    items.append(figures.barrier_curves(lines))
    if pair.drop("raw") is not None:
        lines = {form: (pair.t, pair.scores[form]["test"]["accuracy"]) for form in FORMS}
        items.append(figures.barrier_curves(lines, of="accuracy"))
    swaps: list[list[Any]] = [[name, count] for name, count in pair.transpositions.items()]
    items.append(
        Table(["layer", "transpositions"], swaps, "Swaps of two units that aligned the second network.")
    )
    summary = (
        f"Between {names[0]} and {names[1]} the test loss on {data} rises by {pair.barrier('raw'):.3g} nats "
        f"before alignment, and by {pair.barrier('aligned'):.3g} after the units of the second are put in "
        "the order of the first. Two networks without a barrier lie in one basin, and the network half-way "
        "is about as good as both."
    )
    return page.render(
        title=f"{names[0]} and {names[1]} on {data}",
        summary=summary,
        sections=[
            Section("Between two networks", "The straight line from the first network to the second.", items)
        ],
        provenance=provenance({}),
    )


def write_pair(pair: Pair, names: tuple[str, str], data: str, path: Path) -> Path:
    """Write the page; returns its path."""
    page.write(path, pair_page(pair, names, data))
    return path
