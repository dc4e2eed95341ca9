"""Tables with named columns: comma-separated text, NumPy archives, Parquet."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from symbayes.data.formats.content import DataFormatError, open_content
from symbayes.data.formats.npz import read_npz


def read_csv(path: Path) -> dict[str, np.ndarray]:
    """Columns under the names of the first line; those that hold numbers only are float64, with NaN for what
    is missing, and others strings.  Between semicolons a number may have a decimal comma."""
    try:
        with open_content(path) as file:
            text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataFormatError(path, f"is not text in UTF-8 ({error.reason})") from error
    delimiter = _delimiter(text)
    lines = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if len(lines) < 2:
        raise DataFormatError(path, "a table has a line of names and at least one more")
    names, rows = [name.strip() for name in lines[0]], lines[1:]
    if names[0] == "":
        raise DataFormatError(
            path,
            "the first column has no name, as the index that pandas writes: save the table with "
            "to_csv(index=False), or give that column a name",
        )
    if len(set(names)) < len(names) or "" in names:
        raise DataFormatError(path, f"every column needs a name of its own in the first line, not {names}")
    if all(_number(name) is not None for name in names):
        raise DataFormatError(path, "the first line holds numbers: put one with the columns' names before it")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise DataFormatError(path, f"line {number} has {len(row)} values for {len(names)} columns")
    columns = {name: [row[i].strip() for row in rows] for i, name in enumerate(names)}
    return {name: _column(path, name, words, delimiter == ";") for name, words in columns.items()}


def _delimiter(text: str) -> str:
    """The one of comma, semicolon and tabulator that the first line has most of."""
    first = text.partition("\n")[0]
    return max(",;\t", key=first.count)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


MISSING = ("", "?", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")

WITH_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
GROUPED = re.compile(r"[+-]?(\d{1,3}([.,' ]\d{3})+([.,]\d+)?|\d+,\d+)")
"""Numbers as people write them, 1.234,5 or 1,234.5: which sign is the decimal one cannot be told."""


def _column(path: Path, name: str, words: list[str], commas: bool) -> np.ndarray:
    present = [None if word.lower() in MISSING else word for word in words]
    if commas:
        present = [_with_point(word) for word in present]
    numbers = [float("nan") if word is None else _number(word) for word in present]
    if all(number is not None for number in numbers):
        return np.array(numbers, np.float64)
    odd = [word for word, number in zip(present, numbers, strict=True) if number is None]
    if all(GROUPED.fullmatch(word or "") for word in odd):
        line = present.index(odd[0]) + 2
        raise DataFormatError(
            path, f"the column {name!r} has {odd[0]!r} in line {line}: write numbers as 1234.5"
        )
    return np.array(present, object)


def _with_point(word: str | None) -> str | None:
    return word.replace(",", ".") if word is not None and WITH_COMMA.fullmatch(word) else word


def read_archive(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an .npz archive, by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
    except zipfile.BadZipFile as error:
        raise DataFormatError(path, f"the archive is damaged ({error})") from error
    return read_npz(path, names)


def read_parquet(path: Path) -> dict[str, np.ndarray]:
    """All columns; needs pandas with a reader of Parquet, such as pyarrow."""
    try:
        import pandas

        frame: Any = pandas.read_parquet(path)
    except ImportError as error:
        raise DataFormatError(
            path, "reading Parquet needs pandas and pyarrow: pip install pandas pyarrow"
        ) from error
    except Exception as error:  # each reader has errors of its own
        raise DataFormatError(path, f"cannot be read as Parquet ({error})") from error
    return {str(name): frame[name].to_numpy() for name in frame.columns}


READERS: dict[str, Callable[[Path], dict[str, np.ndarray]]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".csv.gz": read_csv,
    ".npz": read_archive,
    ".parquet": read_parquet,
}
"""By how a file's name ends."""


def reader(path: str | Path) -> Callable[[Path], dict[str, np.ndarray]] | None:
    """The reader for a file of this name, None if there is none."""
    name = str(path).lower()
    return next((READERS[end] for end in READERS if name.endswith(end)), None)
