"""`symbayes data`: the datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, subcommand

from symbayes import data
from symbayes.cli.groups import group
from symbayes.specs import require


@dataclass(frozen=True)
class ListData:
    """Show the datasets by name, and which are here."""

    def __call__(self) -> None:
        table = Table()
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
        name: of the dataset.
    """

    name: Positional[str]

    def __call__(self) -> None:
        for path in data.fetch(self.name):
            print(path)


@dataclass(frozen=True)
class CheckData:
    """Verify a dataset's files: formats, counts, checksums.

    Attributes:
        name: of the dataset.
    """

    name: Positional[str]

    def __call__(self) -> None:
        results = data.check(self.name)
        for result in results:
            print(f"{result.path}: {result.problem or 'right'} (by {result.verified_by})")
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
