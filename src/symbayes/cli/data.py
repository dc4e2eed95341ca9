"""`symbayes data`: the datasets."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any

from rich.table import Table
from tyro.conf import Positional, arg, subcommand

from symbayes import data
from symbayes.cli.groups import group
from symbayes.cli.output import Json, Output
from symbayes.specs import require

EMBEDDED = "{} is embedded: it comes with the package, with no files to fetch or check"
Name = Positional[Annotated[str, arg(metavar="NAME")]]


@dataclass(frozen=True)
class ListData:
    """List the datasets by name, and where their files are.

    Example: symbayes data list

    Attributes:
        json: a file to write the list to; - is the standard output.
    """

    json: Json = None

    def __call__(self) -> None:
        output = Output(self.json)
        table = Table(
            caption="–: not here. `symbayes data fetch NAME` downloads it, or says which files to put where.",
            caption_justify="left",
        )
        for column in ("name", "contents", "where"):
            table.add_column(column)
        for listing in data.list_datasets():
            where = "embedded" if listing.embedded else str(listing.found_in or "–")
            table.add_row(listing.name, listing.description, where)
        output.show(table)
        if output.wanted:
            output.numbers([_plain(listing) for listing in data.list_datasets()])


def _plain(listing: data.Listing) -> dict[str, Any]:
    found = None if listing.found_in is None else str(listing.found_in)
    return dataclasses.asdict(listing) | {"found_in": found}


@dataclass(frozen=True)
class FetchData:
    """Download a dataset's files and check them; an interrupted download is continued.

    Example: symbayes data fetch mnist

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

    Example: symbayes data check mnist

    Attributes:
        name: the dataset's name, as `symbayes data list` shows it.
        json: a file to write the verdicts to; - is the standard output.
    """

    name: Name
    json: Json = None

    def __call__(self) -> None:
        output = Output(self.json)
        results = data.check(self.name)
        for result in results:
            output.line(f"{result.path}: {result.verdict}")
        if not results:
            output.line(EMBEDDED.format(self.name))
        if output.wanted:
            output.numbers({str(result.path): result.verdict for result in results})
        require(
            not any(result.problem for result in results),
            f"{self.name} has damaged files: delete them and get them again",
        )


Data = group(
    "Data",
    "List the datasets, fetch one, or check one.\n\nExample: symbayes data list",
    [
        Annotated[ListData, subcommand("list", prefix_name=False)],
        Annotated[FetchData, subcommand("fetch", prefix_name=False)],
        Annotated[CheckData, subcommand("check", prefix_name=False)],
    ],
)
