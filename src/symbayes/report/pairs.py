"""The page about two trained networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from symbayes.analyse.pairs import FORMS, Pair
from symbayes.report import figures, page
from symbayes.report.contents import Figure, Section, Table
from symbayes.report.runs import provenance


def pair_table(pair: Pair) -> Table:
    """A row for each form and part: the ends, half-way, and the barrier."""
    columns = ["networks", "loss, first", "loss, half-way", "loss, second", "barrier"]
    formats = dict.fromkeys(columns[1:], ".4f")
    middle = len(pair.t) // 2
    rows: list[list[Any]] = []
    for form in FORMS:
        for part, scores in pair.scores[form].items():
            row: list[Any] = [f"{form}, {part}"]
            row += [float(scores["loss"][place]) for place in (0, middle, -1)]
            row.append(pair.barrier(form, part))
            if "accuracy" in scores:
                row += [float(scores["accuracy"][place]) for place in (0, middle, -1)]
            rows.append(row)
    if len(rows[0]) > len(columns):
        more = ["accuracy, first", "accuracy, half-way", "accuracy, second"]
        columns, formats = columns + more, formats | dict.fromkeys(more, ".1%")
    caption = "Losses in nats per example. The barrier is the largest rise above the line between the ends."
    if pair.recomputed:
        caption += f" Statistics of normalisers are computed again on {pair.recomputed:,} training examples."
    return Table(columns, rows, caption, formats)


def pair_page(pair: Pair, names: tuple[str, str], data: str) -> str:
    """The page as one HTML document."""
    items: list[Table | Figure] = [pair_table(pair)]
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
        f"as they are, and by {pair.barrier('aligned'):.3g} once the units of the second stand in the order "
        "of the first. Two networks without a barrier lie in one basin, and their mean is as good as they."
    )
    return page.render(
        title=f"{names[0]} and {names[1]} on {data}",
        summary=summary,
        sections=[Section("Between two networks", "In a straight line from the first to the second.", items)],
        provenance=provenance({}),
    )


def write_pair(pair: Pair, names: tuple[str, str], data: str, path: Path) -> Path:
    """Write the page; gives its path."""
    page.write(path, pair_page(pair, names, data))
    return path
