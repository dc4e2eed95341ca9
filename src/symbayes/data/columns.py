"""Tables with named columns: how their rows become a network's inputs, and its outputs values with names.

A column of numbers is one input, standardised; a column of words is one input for each of its words, one
where the row has that word and zero where not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from symbayes.brief import briefly
from symbayes.data.examples import Dataset, Scaling
from symbayes.specs import Record, Recorded, did_you_mean, require

FEW = 20
"""Whole numbers with at most so many different values may be labels or categories."""

FAR, NEAR = 10.0, 5.0
"""Standard deviations of the training data beyond which no usual row lies, and within which all do."""

Table = Mapping[str, np.ndarray]
"""Columns by name, each (n,): numbers, or words as strings."""


@dataclass(frozen=True)
class Column:
    """A column of inputs; `words` are those that it may hold, none for numbers."""

    name: str
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, values: np.ndarray) -> Column:
        if values.dtype.kind == "f":
            return cls(name)
        words = tuple(sorted(set(values.tolist())))
        require(
            len(words) <= max(FEW, len(values) // 2),
            f"the column {name!r} holds {len(words)} different words in {len(values)} rows, as names and "
            f"dates do, and each would be an input of its own: leave it out (--drop {name!r}), or make it "
            "numbers",
        )
        return cls(name, words)

    @property
    def inputs(self) -> int:
        return len(self.words) or 1

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """Inputs (n, inputs) in float64, before they are standardised."""
        if not self.words:
            require(
                values.dtype.kind == "f",
                f"the column {self.name!r} holds words, and held numbers in the training data",
            )
            return values[:, None]
        words = values.astype(str) if values.dtype.kind != "f" else np.array([_word(v) for v in values])
        unknown = sorted(set(words.tolist()) - set(self.words))
        require(
            not unknown,
            f"the column {self.name!r} holds {', '.join(map(repr, unknown[:3]))}, "
            f"which the training data never had: known are {', '.join(self.words)}",
        )
        return (words[:, None] == np.array(self.words)).astype(np.float64)


@briefly
@dataclass(frozen=True, eq=False)
class Preparation:
    """How rows of a table become inputs, and what predictions stand for.

    Attributes:
        columns: of the inputs, in their order; none where they were arrays without names.
        targets: names of the targets.
        class_names: of labels 0, 1, ...; none for real targets.
        inputs: how inputs were standardised, if they were.
        outputs: how targets were standardised, if they were.
    """

    columns: tuple[Column, ...] = ()
    targets: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    inputs: Scaling | None = None
    outputs: Scaling | None = None

    @classmethod
    def of(cls, dataset: Dataset) -> Preparation:
        """That of a dataset."""
        scalings = dataset.input_scaling, dataset.target_scaling
        return cls(dataset.columns, dataset.targets, dataset.class_names, *scalings)

    def rows(self, what: ArrayLike | Mapping[str, ArrayLike]) -> np.ndarray:
        """Inputs of the network for a table, or for an array in the units of the training data."""
        if is_table(what):
            return self._scaled(encoded(table(what), self.columns))
        return self._scaled(raw_array(what))

    def seems_raw(self, x: np.ndarray) -> bool:
        """Whether an array is certainly not prepared: images as bytes, or rows that lie far from the training
        data as they are, and among them once they are standardised."""
        if x.dtype == np.uint8 and x.ndim >= 3:
            return True
        if self.inputs is None or x.dtype.kind not in "iuf" or x.shape[1:] != self.inputs.mean.shape:
            return False
        return _distance(x) > FAR and _distance(self.inputs.apply(x)) < NEAR

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        if self.inputs is None:
            return x.astype(np.float32)
        wanted = self.inputs.mean.shape
        require(
            x.shape[1:] == wanted, f"rows have shape {wanted} in the training data, and {x.shape[1:]} here"
        )
        return self.inputs.apply(x)

    def record(self) -> Record:
        """As JSON."""
        return {
            "columns": [[column.name, list(column.words)] for column in self.columns],
            "targets": list(self.targets),
            "class_names": list(self.class_names),
            "inputs": None if self.inputs is None else self.inputs.record(),
            "outputs": None if self.outputs is None else self.outputs.record(),
        }

    @classmethod
    def read(cls, recorded: Recorded) -> Preparation:
        """From what `record` gave."""
        scalings = {
            name: None if recorded[name] is None else Scaling.read(recorded[name])
            for name in ("inputs", "outputs")
        }
        return cls(
            tuple(Column(name, tuple(words)) for name, words in recorded["columns"]),
            tuple(recorded["targets"]),
            tuple(recorded["class_names"]),
            **scalings,
        )


def raw_array(x: Any) -> np.ndarray:
    """Inputs that are no table as numbers, before they are standardised: images of bytes in [0, 1], with an
    axis over channels, and a single feature as a column."""
    array = np.asarray(x)
    require(array.dtype.kind in "iufb", f"inputs are numbers, or a table with names, not {array.dtype}")
    if array.dtype == np.uint8 and array.ndim >= 3:
        array = array / 255.0
    if array.ndim == 3:
        array = array[..., None]
    array = array[:, None] if array.ndim == 1 else array
    finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
    require(
        bool(finite.all()),
        f"inputs hold NaN or infinity in {(~finite).sum()} of {len(array)} rows, "
        f"first in row {int((~finite).argmax()) + 1}: fill them, or leave these rows out",
    )
    return array


def _distance(x: np.ndarray) -> float:
    """The largest input of the middle one of all rows."""
    return float(np.median(np.abs(x).max(axis=1))) if x.size else 0.0


def is_table(what: Any) -> bool:
    """Whether this has named columns."""
    return isinstance(what, Mapping) or (hasattr(what, "columns") and hasattr(what, "to_numpy"))


def table(what: Any) -> dict[str, np.ndarray]:
    """The columns of a pandas table or a mapping: numbers as float64, everything else as strings."""
    columns = {str(name): column(str(name), what[name]) for name in _names(what)}
    lengths = {name: len(values) for name, values in columns.items()}
    require(len(set(lengths.values())) == 1, f"the columns of a table have one length, not {lengths}")
    return columns


def _names(what: Any) -> list[Any]:
    return list(what.keys() if isinstance(what, Mapping) else what.columns)


def column(name: str, values: Any) -> np.ndarray:
    """Numbers as float64, words as strings; a missing or infinite value is refused, and a word between
    numbers."""
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    require(array.ndim == 1, f"the column {name!r} has one value in every row, not shape {array.shape}")
    missing = np.array([value is None or value != value for value in array.tolist()], bool)
    require(
        not missing.any(),
        f"the column {name!r} lacks {missing.sum()} of {len(array)} values, "
        f"first in row {int(missing.argmax()) + 1}: fill them, or leave these rows out",
    )
    numbers = array.dtype.kind == "O" and all(isinstance(v, int | float) for v in array.tolist())
    if numbers or array.dtype.kind in "iuf":
        found = array.astype(np.float64)
        infinite = np.isinf(found)
        first = int(infinite.argmax()) + 1
        require(not infinite.any(), f"the column {name!r} is infinite in row {first}: leave such rows out")
        return found
    words = [_word(value) for value in array.tolist()]
    _refuse_a_word_between_numbers(name, words)
    return np.array(words, dtype=str)


def _refuse_a_word_between_numbers(name: str, words: list[str]) -> None:
    """A column of many numbers and few words was meant as numbers: each would become an input of its own."""
    odd = [row for row, word in enumerate(words) if not _is_number(word)]
    different = {word for word in words if _is_number(word)}
    if odd and len(different) > FEW and 2 * len(odd) < len(words):
        raise ValueError(
            f"the column {name!r} holds {len(different)} different numbers, but {words[odd[0]]!r} in row "
            f"{odd[0] + 1}: make it a number, or leave such rows out"
        )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _word(value: Any) -> str:
    """A value as a word; 3.0 and 3 are the same."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def encoded(rows: Table, columns: tuple[Column, ...]) -> np.ndarray:
    """Inputs (n, features) of a table that has these columns, and perhaps others."""
    require(len(columns) > 0, "the training data had no names: give an array of inputs instead of a table")
    for wanted in columns:
        hint = did_you_mean(wanted.name, rows)
        require(wanted.name in rows, f"the table has no column {wanted.name!r}{hint}: it has {quoted(rows)}")
    return np.concatenate([wanted.encoded(rows[wanted.name]) for wanted in columns], axis=1)


def quoted(names: Iterable[str]) -> str:
    """Names of columns in a message: not too many, and quoted where one would read as two."""
    known = [repr(name) if "," in name else name for name in names]
    rest = f" and {len(known) - FEW} more" if len(known) > FEW else ""
    return ", ".join(known[:FEW]) + rest


def standardisation(x: np.ndarray, columns: tuple[Column, ...] = ()) -> Scaling:
    """Mean and standard deviation of every input, in float64; a constant one keeps scale one, and so do
    those that stand for words."""
    wide = x.astype(np.float64)
    constant = wide.max(axis=0) == wide.min(axis=0)
    mean, scale = wide.mean(axis=0), np.where(constant, 1.0, wide.std(axis=0))
    words = np.array([bool(c.words) for c in columns for _ in range(c.inputs)] or [False] * x.shape[1])
    return Scaling(np.where(words, 0.0, mean), np.where(words, 1.0, scale))
