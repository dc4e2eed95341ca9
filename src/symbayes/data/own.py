"""Data of one's own: arrays and tables in memory, split, standardised and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from symbayes.data.columns import FEW, Column, encoded, is_table, raw_array, standardisation, table
from symbayes.data.examples import Dataset, Examples, Scaling, validate
from symbayes.data.rows import require_rows
from symbayes.specs import require

Task = Literal["regression", "classification"]


def from_arrays(
    x: ArrayLike | Mapping[str, ArrayLike],
    y: ArrayLike | Mapping[str, ArrayLike],
    *,
    name: str = "own data",
    task: Task | None = None,
    test: float | int | tuple[ArrayLike | Mapping[str, ArrayLike], ArrayLike | Mapping[str, ArrayLike]] = 0.1,
    validation: float | int = 0.1,
    split: int = 0,
    standardise: bool = True,
    targets: Sequence[str] = (),
) -> Dataset:
    """A dataset of your own.

    Args:
        x: inputs, one row for every example: an array, a list, or a pandas DataFrame, whose columns of words
            become one input for each word.  Images are (n, height, width, channels), in [0, 1] or as bytes.
        y: targets: numbers (n,) or (n, d), or labels (n,) of any kind.
        name: the name of the dataset on the page.
        task: regression or classification.  By default words, booleans and whole numbers with at most 20
            different values are labels.
        test: the share or number of rows of the test part; or the pair of its x and y.
        validation: the share or number of rows of the validation part, on which methods may tune themselves.
        split: number of the random split into parts.
        standardise: subtract means and divide by standard deviations of the training part, for columns of
            inputs and for real targets.
        targets: names of the targets; by default the names of y's columns, if it has any.
    """
    require_rows(x=x, y=y)
    kind = task or guess(y)
    columns, inputs = _inputs(x, None)
    whole = inputs, _targets(y, kind)
    names = _target_names(y, targets, 1 if whole[1].ndim == 1 else whole[1].shape[-1])
    require(len(inputs) == len(whole[1]), f"x has {len(inputs)} rows but y has {len(whole[1])}")
    apart = None
    if isinstance(test, tuple):
        require(len(test) == 2, "test is a share of the rows, a number of them, or the pair (x, y)")
        apart, test = (_inputs(test[0], columns)[1], _targets(test[1], kind)), 0
    class_names: tuple[str, ...] = ()
    if kind == "classification":
        class_names = _class_names(whole[1], *(() if apart is None else (apart[1],)))
        whole = whole[0], _labels(whole[1], class_names)
        apart = None if apart is None else (apart[0], _labels(apart[1], class_names))
    chosen = _chosen(len(inputs), test, validation, split)
    parts = {name: (whole[0][rows], whole[1][rows]) for name, rows in chosen.items()}
    parts |= {} if apart is None else {"test": apart}
    require(len(parts["test"][0]) > 0, "runs are judged on the test part: give test as a share of the rows")
    scaled = standardise and inputs.ndim == 2, standardise and not class_names
    made, scalings = _scaled(parts, columns, scaled, len(class_names) or None)
    return Dataset(
        name,
        made["train"],
        made["validation"],
        made["test"],
        len(class_names) or None,
        class_names,
        f"{kind}, {len(inputs):,} rows",
        *scalings,
        columns=columns,
        targets=names,
        loadable=False,
    )


def _scaled(
    parts: Mapping[str, tuple[np.ndarray, np.ndarray]],
    columns: tuple[Column, ...],
    standardised: tuple[bool, bool],
    classes: int | None,
) -> tuple[dict[str, Examples], tuple[Scaling | None, Scaling | None]]:
    """The parts as examples, standardised by what trains, and how."""
    x, y = parts["train"]
    inputs = standardisation(x, columns) if standardised[0] else None
    outputs = standardisation(y) if standardised[1] else None

    def made(x: np.ndarray, y: np.ndarray) -> Examples:
        x = x.astype(np.float32) if inputs is None else inputs.apply(x)
        y = y if outputs is None else outputs.apply(y)
        return validate(x, y.astype(np.float32 if classes is None else np.int32), classes)

    return {name: made(*rows) for name, rows in parts.items()}, (inputs, outputs)


def guess(y: Any) -> Task:
    """Labels or real targets."""
    values = np.asarray(y)
    if values.dtype.kind not in "iuf":
        numbers = values.dtype.kind == "O" and all(isinstance(v, float) for v in values.ravel().tolist())
        return "regression" if numbers else "classification"
    flat = values.ndim == 1 or values.shape[-1] == 1
    whole = values.dtype.kind in "iu" or bool(np.all(values == np.round(values)))
    few = flat and whole and len(np.unique(values)) <= FEW
    return "classification" if few else "regression"


def _inputs(x: Any, columns: tuple[Column, ...] | None) -> tuple[tuple[Column, ...], np.ndarray]:
    """The columns of a table, and inputs as numbers before they are standardised."""
    if is_table(x):
        rows = table(x)
        found = (
            tuple(Column.of(name, values) for name, values in rows.items()) if columns is None else columns
        )
        return found, encoded(rows, found)
    return (), raw_array(x)


def _targets(y: Any, task: Task) -> np.ndarray:
    values = np.asarray(y)
    known = values.dtype.kind in "biufOSU"
    require(known, f"targets are real numbers, or labels, and these are {values.dtype}")
    if task == "classification":
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        require(values.ndim == 1, f"labels are one per row, not of shape {values.shape}")
        return values
    try:
        numbers = values.astype(np.float64)
    except ValueError:
        raise ValueError("the targets of a regression are numbers, and these hold words") from None
    bad = ~np.isfinite(numbers).reshape(len(numbers), -1).all(axis=1)
    require(
        not bad.any(),
        f"targets lack {bad.sum()} of {len(numbers)} values, first in row {int(bad.argmax()) + 1}: "
        "leave these rows out",
    )
    return numbers[:, None] if numbers.ndim == 1 else numbers


def _target_names(y: Any, given: Sequence[str], outputs: int) -> tuple[str, ...]:
    """One name for each target, or none at all."""
    names = (given,) if isinstance(given, str) else tuple(given)
    require(
        len(names) in (0, outputs),
        f"y has {outputs} target{'' if outputs == 1 else 's'}, but targets names {len(names)}: "
        f"{', '.join(names)}",
    )
    if names:
        return names
    if is_table(y):
        return tuple(map(str, y.keys() if isinstance(y, dict) else y.columns))
    name = getattr(y, "name", None)
    return () if name is None else (str(name),)


def _class_names(*parts: np.ndarray) -> tuple[str, ...]:
    values = np.unique(np.concatenate(parts))
    require(len(values) >= 2, f"a classification has two labels or more, not only {str(values[0])!r}")
    return tuple(_label(value) for value in values.tolist())


def _labels(values: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Numbers 0, 1, ... in the order of the names."""
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[_label(value)] for value in values.tolist()], np.int32)


def _label(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _chosen(rows: int, test: float | int, validation: float | int, split: int) -> dict[str, np.ndarray]:
    """Which rows train, validate and test, each in the table's own order."""
    counts = {}
    for name, wanted in (("test", test), ("validation", validation)):
        require(wanted >= 0, f"{name} is a share of the rows, or how many, not {wanted}")
        counts[name] = round(wanted * rows) if wanted < 1 else int(wanted)
        if wanted:
            counts[name] = max(1, counts[name])
    left = rows - sum(counts.values())
    require(
        left > 0,
        f"of {rows} rows, {counts['test']} test and {counts['validation']} validate: none is left to train",
    )
    order = np.random.RandomState(split).permutation(rows)
    train, validate_, test_ = np.split(order, [left, left + counts["validation"]])
    return {"train": np.sort(train), "validation": np.sort(validate_), "test": np.sort(test_)}
