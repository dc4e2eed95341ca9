"""All splits of a dataset in one command."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from rich.table import Table

from symbayes import data
from symbayes.analyse.compare import Comparison
from symbayes.analyse.splits import SplitScores
from symbayes.cli.output import Output
from symbayes.cli.target import Target
from symbayes.data.names import cut
from symbayes.specs import require


def split_targets(target: Target, wanted: str) -> dict[str, Target]:
    """The same target on every split: ``all`` splits of the dataset, or a number of the first."""
    known = data.split_count(target.data)
    if wanted == "all":
        require(
            known is not None, f"--splits all is for the uci sets: give the number of splits of {target.data}"
        )
    else:
        require(wanted.isdecimal() and int(wanted) > 0, f"--splits is all, or a number, not {wanted!r}")
    assert known is not None or wanted != "all"
    count = known if wanted == "all" else int(wanted)
    assert count is not None
    require(known is None or count <= known, f"{target.data} has {known} splits, not {count}")
    require("split=" not in target.data, "--splits chooses the splits: leave split= out of --data")
    joint = "," if cut(target.data)[1] else ":"
    return {
        f"split-{number}": dataclasses.replace(target, data=f"{target.data}{joint}split={number}")
        for number in range(count)
    }


def over_splits(
    targets: dict[str, Target], draw: Callable[[str, Target], Comparison], output: Output
) -> None:
    """Draw and evaluate one run after the other, and print mean and standard error."""
    comparisons = {}
    for name, target in targets.items():
        output.line(f"{name}:")
        comparisons[name] = draw(name, target)
    scores = SplitScores.of(comparisons)
    table = Table(caption=f"Over {scores.count} splits.", caption_justify="left")
    for number, column in enumerate(("metric", "mean", "standard error", "range")):
        table.add_column(column, justify="right" if number else "left")
    for row in scores.rows():
        table.add_row(*row)
    output.show(table)
    output.numbers({"splits": scores.count, "scores": scores.numbers()})
