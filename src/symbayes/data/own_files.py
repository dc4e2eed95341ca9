"""Files of one's own as datasets: ``path/to/houses.csv:target=price``.

The name has all that it takes to load the same data again: the file, and after a colon the target's column
(or several, joined by +) and options, as the columns that are left out.  Characters that have a meaning there
are written as in addresses, %2C for a comma.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from symbayes.data.columns import quoted, table
from symbayes.data.examples import Dataset
from symbayes.data.formats.columns import READERS, reader
from symbayes.data.names import OPTIONS, cut
from symbayes.data.own import Task, from_arrays
from symbayes.specs import did_you_mean, require

NAMES = ("target", "drop")
"""Options that are columns."""


def names_a_file(name: str) -> bool:
    """Whether a dataset's name is that of a file, readable or not."""
    path = cut(name)[0]
    return bool(Path(path).suffix) or "/" in path or Path(path).is_file()


def file_name(path: str | Path, **options: Any) -> str:
    """The name of the dataset in a file, with these options."""
    written = [f"{key}={_written(options[key])}" for key in OPTIONS if options.get(key) not in (None, ())]
    return f"{path}:{','.join(written)}" if written else str(path)


def _written(value: Any) -> str:
    many = value if isinstance(value, tuple | list) else [value]
    return "+".join(quote(str(one), safe=" ") for one in many)


def parsed(name: str) -> tuple[Path, dict[str, Any]]:
    """The file, and the options after the colon."""
    path, rest = cut(name)
    options: dict[str, Any] = {}
    for item in rest.split(",") if rest else ():
        option, equals, value = item.partition("=")
        require(
            bool(equals) and option in OPTIONS,
            f"options of a file are written FILE:target=NAME,split=1, of {', '.join(OPTIONS)}, not {item!r}",
        )
        options[option] = _read_option(option, value)
    return Path(path), options


def _read_option(option: str, value: str) -> Any:
    if option in NAMES:
        return tuple(unquote(one) for one in value.split("+"))
    if option == "task":
        require(
            value in ("regression", "classification"), f"task is regression or classification, not {value!r}"
        )
        return value
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"{option} is a number, not {value!r}") from None
    return number if option in ("test", "validation") and number < 1 else int(number)


def load_file(name: str, **options: Any) -> Dataset:
    """The dataset in a file; its name loads the same data again from any folder."""
    path, written = parsed(name)
    given = written | {key: value for key, value in options.items() if value is not None}
    given |= {key: (given[key],) for key in NAMES if isinstance(given.get(key), str)}
    unknown = sorted(set(given) - set(OPTIONS))
    require(not unknown, f"a file takes the options {', '.join(OPTIONS)}, not {', '.join(unknown)}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    limits = {key: given[key] for key in ("examples", "test_examples") if key in given}
    rest = {key: given[key] for key in ("test", "validation", "split") if key in given}
    x, y, targets = inputs_and_targets(path, given.get("target", ()), given.get("drop", ()))
    task: Task | None = given.get("task")
    dataset = from_arrays(x, y, name=path.name, task=task, targets=targets, **rest)
    kept = file_name(path.resolve(), **given)
    described = f"{dataset.description} of {path.name}"
    return replace(dataset.limited(**limits), name=kept, description=described, loadable=True)


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file, by name."""
    read = reader(path)
    require(read is not None, f"{path} is no table that can be read: save it as one of {', '.join(READERS)}")
    assert read is not None
    return read(path)


def counting_columns(name: str) -> tuple[str, ...]:
    """The inputs of a file that are whole numbers and rise from row to row, as numbers of rows do."""
    path, options = parsed(name)
    others = {one: values for one, values in read_columns(path).items() if values.ndim == 1}
    return tuple(
        one
        for one, values in others.items()
        if not any(one in options.get(key, ()) for key in NAMES)
        and values.dtype.kind in "iuf"
        and bool(np.all(values == np.round(values)) and np.all(np.diff(values) > 0))
    )


def inputs_and_targets(
    path: Path, target: Sequence[str], drop: Sequence[str] = ()
) -> tuple[Any, Any, tuple[str, ...]]:
    """Inputs, targets and their names: the named columns and all others that are not dropped, or arrays x and
    y of an archive."""
    columns = read_columns(path)
    for unwanted in drop:
        require_column(path, unwanted, columns)
        require(unwanted not in target, f"{unwanted!r} is the target, and cannot be dropped")
    columns = {name: values for name, values in columns.items() if name not in drop}
    if not target and {"x", "y"} <= set(columns):
        return columns["x"], columns["y"], ()
    require(len(target) > 0, f"name the column of {path} to predict with --target, of {quoted(columns)}")
    for wanted in target:
        require_column(path, wanted, columns)
    others = {name: values for name, values in columns.items() if name not in target}
    require(len(others) > 0, f"{path} has no column beside {quoted(target)} to predict from")
    if "x" in others and np.ndim(others["x"]) > 1:
        return others["x"], _stacked(columns, target), tuple(target)
    return table(others), _stacked(columns, target), tuple(target)


def require_column(path: Path, name: str, columns: Mapping[str, np.ndarray]) -> None:
    """Refuse a column that a file has not."""
    hint = did_you_mean(name, columns)
    require(name in columns, f"{path} has no column {name!r}{hint}: it has {quoted(columns)}")


def _stacked(columns: Mapping[str, np.ndarray], target: Sequence[str]) -> np.ndarray:
    chosen = table({name: columns[name] for name in target})
    return chosen[target[0]] if len(target) == 1 else np.stack([chosen[name] for name in target], axis=1)
