"""The datasets by name: load them, list them, check their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from symbayes.data.catalogue import CATALOGUE
from symbayes.data.examples import Dataset
from symbayes.data.folder import data_folder
from symbayes.data.formats import DataFormatError
from symbayes.data.own_files import load_file, names_a_file
from symbayes.data.source import Entry, Source
from symbayes.specs import did_you_mean

LIMITS = ("examples", "test_examples")


def load(name: str, root: str | Path | None = None, **options: Any) -> Dataset:
    """The dataset of that name, its files read from `root` (see `data_folder`) and verified.

    Options of every dataset: ``examples`` and ``test_examples`` (only so many of the first training
    and test examples).  Where the dataset has them: ``validation`` (how many examples are held out of
    the original training set; 0 keeps it whole), ``length`` (tokens per text), ``split`` (number of a
    train and test split).  They may be part of the name, ``"imdb:examples=1000,length=200"``, and are part
    of the name of the returned dataset: that name alone loads it again.

    The name may be that of a .csv, .tsv, .npz or .parquet file of your own; then the options are ``target``
    (the column to predict, or several), ``drop`` (columns that are no inputs), ``task``, ``test``,
    ``validation`` and ``split`` as in `from_arrays`.
    """
    if names_a_file(name):
        return load_file(name, **options)
    name, options = parsed(name, options)
    entry = find(name)
    known = (*entry.options, *LIMITS)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"{name} takes the options {', '.join(known)}, not {', '.join(unknown)}")
    for option, value in options.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{option} must be an integer, not {value!r}")
    dataset = _read(entry, root, {key: value for key, value in options.items() if key not in LIMITS})
    limits = {key: options[key] for key in LIMITS if key in options}
    return replace(dataset.limited(**limits), name=_full_name(name, options))


def _read(entry: Entry, root: str | Path | None, options: Mapping[str, int]) -> Dataset:
    folder = data_folder(root)
    source, paths = _located(entry, folder)
    try:
        source.verify(paths)
    except DataFormatError as error:
        remedy = "delete it and get it again"
        raise DataFormatError(error.path, f"{error.problem}; {remedy}") from error
    return source.read(entry.info, paths, **options)


def parsed(name: str, options: Mapping[str, int]) -> tuple[str, dict[str, int]]:
    """A dataset's name without the options that may follow it, and all options together."""
    plain, _, rest = name.partition(":")
    named: dict[str, int] = {}
    for item in rest.split(",") if rest else ():
        option, _, value = item.partition("=")
        if not value.isdecimal():
            raise ValueError(
                f"a dataset's options are written name:option=number,option=number, not {name!r} ({item!r})"
            )
        named[option] = int(value)
    return plain, named | dict(options)


def _full_name(name: str, options: Mapping[str, int]) -> str:
    rest = ",".join(f"{option}={options[option]}" for option in sorted(options))
    return f"{name}:{rest}" if rest else name


def find(name: str) -> Entry:
    """The catalogue's entry, or a ValueError that names the closest and all known ones."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    hint = did_you_mean(name, CATALOGUE)
    raise ValueError(f"no dataset is called {name!r}{hint}; the known ones are {', '.join(CATALOGUE)}")


def split_count(name: str) -> int | None:
    """How many train and test splits a dataset has; None where it has one only, or any number, as files."""
    return None if names_a_file(name) else find(parsed(name, {})[0]).splits


def _located(entry: Entry, folder: Path) -> tuple[Source, dict[str, Path]]:
    for source in entry.sources:
        paths = source.locate(folder)
        if paths is not None:
            return source, paths
    raise FileNotFoundError(_how_to_get(entry, folder))


def _how_to_get(entry: Entry, folder: Path) -> str:
    name = entry.info.name
    places = " or ".join(
        f"{', '.join(file.name for file in source.files)} in {folder / source.folders[0]}"
        for source in entry.sources
    )
    fetched = any(source.remotes for source in entry.sources)
    advice = f"run `symbayes data fetch {name}`, or put" if fetched else "put"
    return (
        f"the files of {name!r} are missing: expected {places}; {advice} the files there, "
        "or point the environment variable SYMBAYES_DATA at the folder that has them"
    )


@dataclass(frozen=True)
class Listing:
    """A line about a dataset: what it is, and where its files are (None: not found)."""

    name: str
    description: str
    classes: int | None
    found_in: Path | None
    fetchable: bool
    embedded: bool


def list_datasets(root: str | Path | None = None) -> list[Listing]:
    """Every known dataset, and whether its files are there."""
    folder = data_folder(root)
    return [_listing(entry, folder) for entry in CATALOGUE.values()]


def _listing(entry: Entry, folder: Path) -> Listing:
    info = entry.info
    embedded = any(not source.files for source in entry.sources)
    found = next((paths for source in entry.sources if (paths := source.locate(folder))), None)
    return Listing(
        name=info.name,
        description=info.description,
        classes=info.classes,
        found_in=next(iter(found.values())).parent if found else None,
        fetchable=any(source.remotes for source in entry.sources),
        embedded=embedded,
    )


@dataclass(frozen=True)
class FileCheck:
    """What `check` found of one file: `problem` is empty where it is right.

    `verified_by` is the kind of checksum, such as sha256, or "size" or "nothing" where no more is known.
    """

    path: Path
    verified_by: str
    problem: str = ""

    @property
    def verdict(self) -> str:
        """In words."""
        if self.problem:
            return self.problem
        if self.verified_by == "nothing":
            return "there; neither its size nor a checksum is known, so nothing was checked"
        return f"right (checked by {self.verified_by})"


def check(name: str, root: str | Path | None = None) -> list[FileCheck]:
    """Verify size and checksum of each file of a dataset; FileNotFoundError where they are missing."""
    source, paths = _located(find(name), data_folder(root))
    results = []
    for file in source.files:
        unchecked = "nothing" if file.size is None else "size"
        kind = file.digest.partition(":")[0] if file.digest else unchecked
        try:
            file.verify(paths[file.name])
        except DataFormatError as error:
            results.append(FileCheck(paths[file.name], kind, error.problem))
        else:
            results.append(FileCheck(paths[file.name], kind))
    return results
