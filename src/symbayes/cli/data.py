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

EMBEDDED = "{} is embedded: it comes with the package, with no files to fetch or check"
Name = Positional[Annotated[str, arg(metavar="NAME")]]


@dataclass(frozen=True)
class ListData:
    """List the datasets by name, and where their files are."""

    def __call__(self) -> None:
        table = Table(
            caption="–: not here. `symbayes data fetch NAME` downloads it, or says which files to put where.",
            caption_justify="left",
        )
        for column in ("name", "contents", "where"):
            table.add_column(column)
        for listing in data.list_datasets():
            where = "embedded" if listing.embedded else str(listing.found_in or "–")
            table.add_row(listing.name, listing.description, where)
        Console().print(table)


@dataclass(frozen=True)
class FetchData:
    """Download a dataset's files and check them; a download that broke off goes on.

    Attributes:
        name: the dataset's name, as `symbayes data list` shows it.
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
    """Check the sizes and checksums of a dataset's files.

    Attributes:
        name: the dataset's name, as `symbayes data list` shows it.
    """

    name: Name

    def __call__(self) -> None:
        results = data.check(self.name)
        for result in results:
            print(f"{result.path}: {result.verdict}")
        if not results:
            print(EMBEDDED.format(self.name))
        require(
            not any(result.problem for result in results),
            f"{self.name} has damaged files: delete them and get them again",
        )


Data = group(
    "Data",
    "The datasets: list them, fetch one, check one.",
    [
        Annotated[ListData, subcommand("list", prefix_name=False)],
        Annotated[FetchData, subcommand("fetch", prefix_name=False)],
        Annotated[CheckData, subcommand("check", prefix_name=False)],
    ],
)
