"""The forms in which a dataset's files may lie in the data folder, and whether they are right."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from symbayes.data.examples import Dataset
from symbayes.data.formats import DataFormatError, open_content

CHUNK = 1 << 20


@dataclass(frozen=True)
class DataFile:
    """A file by name, with the size and digest (``"sha256:..."``) of its content.

    Content is what is left after unzipping, since every gzip program writes other bytes.  The digest
    is None where the owners publish none.
    """

    name: str
    size: int | None = None
    digest: str | None = None

    def verify(self, path: Path) -> None:
        """Raise `DataFormatError` unless the file at `path` has this content."""
        name, _, expected = (self.digest or "sha256:").partition(":")
        running, size = hashlib.new(name), 0
        with open_content(path) as file:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                if self.size is not None and size > self.size:
                    break
                running.update(chunk)
        if self.size is not None and size != self.size:
            found = "more" if size > self.size else str(size)
            raise DataFormatError(path, f"should hold {self.size} bytes, holds {found}")
        if expected and running.hexdigest() != expected:
            raise DataFormatError(path, f"its {name} is {running.hexdigest()}, not {expected}")


@dataclass(frozen=True)
class Remote:
    """Where a file can be had: addresses tried in turn.

    `digest` is that of the downloaded bytes; where it is None the content's digest decides.  An
    archive names the `members` to unpack, given as path in the archive: name of the data file.
    """

    saved_as: str
    urls: tuple[str, ...]
    digest: str | None = None
    members: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Source:
    """One form of a dataset: its files in one of several folders, and the function that reads them.

    Folders are relative to the data folder, or absolute.  ``read(info, paths, **options)`` gets
    the files by name.
    """

    read: Callable[..., Dataset]
    files: tuple[DataFile, ...] = ()
    folders: tuple[str, ...] = (".",)
    remotes: tuple[Remote, ...] = ()

    def locate(self, root: Path) -> dict[str, Path] | None:
        """The files by name, plain or gzipped, if one folder has them all."""
        for folder in self.folders:
            paths = {file.name: _plain_or_gzipped(root / folder / file.name) for file in self.files}
            found = {name: path for name, path in paths.items() if path is not None}
            if len(found) == len(self.files):
                return found
        return None

    def verify(self, paths: Mapping[str, Path]) -> None:
        """Raise `DataFormatError` unless every file has the content it should have."""
        for file in self.files:
            file.verify(paths[file.name])


def _plain_or_gzipped(path: Path) -> Path | None:
    for candidate in (path, path.with_name(path.name + ".gz")):
        if candidate.is_file():
            return candidate
    return None


@dataclass(frozen=True)
class Info:
    """What is known of a dataset without reading it."""

    name: str
    description: str
    classes: int | None
    class_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A dataset in the catalogue: the first source whose files are found is read.

    `options` are the names of the options that its readers take, and `splits` counts the splits that it has.
    """

    info: Info
    sources: tuple[Source, ...]
    options: tuple[str, ...] = ("validation",)
    splits: int | None = None
