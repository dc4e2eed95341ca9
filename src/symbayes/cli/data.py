"""`symbayes data`: the datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg, subcommand

from symbayes import data
from symbayes.cli.groups import group
from symbayes.specs import require

EMBEDDED = "{} is embedded: it has no files of its own"
Name = Positional[Annotated[str, arg(metavar="NAME")]]


@dataclass(frozen=True)
class ListData:
    """Show the datasets by name, and which are here."""

    def __call__(self) -> None:
        table = Table(
            caption="– is not here: `symbayes data fetch NAME` gets it, or tells which files to put where.",
            caption_justify="left",
        )
        for column in ("name", "what", "here"):
            table.add_column(column)
        for listing in data.list_datasets():
            here = "embedded" if listing.embedded else str(listing.found_in or "–")
            table.add_row(listing.name, listing.description, here)
        Console().print(table)


@dataclass(frozen=True)
class FetchData:
    """Download a dataset's files, with progress, resume and checksum.

    Attributes:
        name: of the dataset, as `symbayes data list` shows it.
    """

    name: Name

    def __call__(self) -> None:
        paths = data.fetch(self.name)
        for path in paths:
            print(path)
        if not paths:
            print(EMBEDDED.format(self.name))


@dataclass(frozen=True)
class CheckData:
    """Verify a dataset's files: formats, counts, checksums.

    Attributes:
        name: of the dataset, as `symbayes data list` shows it.
    """

    name: Name

    def __call__(self) -> None:
        results = data.check(self.name)
        for result in results:
            print(f"{result.path}: {result.problem or 'right'} (by {result.verified_by})")
        if not results:
            print(EMBEDDED.format(self.name))
        require(not any(result.problem for result in results), f"{self.name} has damaged files")


Data = group(
    "Data",
    "The datasets: list them, fetch one, check one.",
    [
        Annotated[ListData, subcommand("list", prefix_name=False)],
        Annotated[FetchData, subcommand("fetch", prefix_name=False)],
        Annotated[CheckData, subcommand("check", prefix_name=False)],
    ],
)
