"""`symbayes study`: published experiments, run again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.table import Table
from tyro.conf import arg, subcommand

from symbayes.cli.groups import group
from symbayes.cli.options import default
from symbayes.cli.output import Json, Output
from symbayes.cli.told import with_json
from symbayes.studies import STUDIES
from symbayes.studies.study import listed

_Out = Annotated[Path | None, default("runs/study-NAME-PRESET")]
_Only = Annotated[tuple[str, ...], arg(metavar="PART [PART ...]", help_behavior_hint="(default: all)")]


@dataclass(frozen=True)
class ListStudies:
    """List the studies: the question of each, and the paper that it follows.

    Example: symbayes study list

    Attributes:
        json: a file to write the list to; - is the standard output.
    """

    json: Json = None

    def __call__(self) -> None:
        output = Output(self.json)
        table = Table(
            caption="`symbayes study NAME` runs one again; its folder has the page, the numbers and figures.",
            caption_justify="left",
        )
        for column in ("name", "question", "paper"):
            table.add_column(column)
        for study in listed(STUDIES):
            table.add_row(study["name"], study["title"], study["source"])
        output.show(table)
        output.numbers(listed(STUDIES))


StudyCommand = group(
    "StudyCommand",
    "Run a published experiment again, and compare its answers with the paper's.\n\n"
    "A study that was stopped continues when the same command is given again.\n\n"
    "Example: symbayes study truth --preset quick",
    [
        Annotated[ListStudies, subcommand("list", prefix_name=False)],
        *(
            Annotated[
                with_json(study, out=_Out, only=_Only),
                subcommand(name, prefix_name=False, description=study.help()),
            ]
            for name, study in STUDIES.items()
        ),
    ],
)
