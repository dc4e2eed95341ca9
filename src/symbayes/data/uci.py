"""UCI regression sets with the train and test splits of Hernández-Lobato and Adams (2015)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from symbayes.data.columns import standardisation
from symbayes.data.examples import Dataset, Examples, validate
from symbayes.data.formats import DataFormatError, read_indices, read_npz, read_table
from symbayes.data.source import Info


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs (n, features), targets (n, 1), and for each split which rows test, (splits, n)."""

    path: Path
    x: np.ndarray
    y: np.ndarray
    test: np.ndarray


def read_packed(
    info: Info, paths: Mapping[str, Path], split: int = 0, validation: int | None = None
) -> Dataset:
    """From one archive; see `standardised`."""
    (path,) = paths.values()
    return standardised(info, packed_table(path), split, validation)


def read_text(
    info: Info,
    paths: Mapping[str, Path],
    rows: int,
    features: int,
    split: int = 0,
    validation: int | None = None,
) -> Dataset:
    """From the text files in which the splits are published; see `standardised`."""
    return standardised(info, text_table(paths, rows, features), split, validation)


def standardised(info: Info, table: Table, split: int, validation: int | None) -> Dataset:
    """Split number `split`, standardised by the statistics of its training part.

    `validation` rows (a tenth of the training rows by default) are drawn from the training rows
    once by ``RandomState(split)``; with ``validation=0`` all rows outside the test part train.
    """
    if not 0 <= split < len(table.test):
        raise ValueError(f"{info.name} has splits 0..{len(table.test) - 1}, not {split}")
    rows, test_rows = np.flatnonzero(~table.test[split]), np.flatnonzero(table.test[split])
    held_out = len(rows) // 10 if validation is None else validation
    if not 0 <= held_out < len(rows):
        raise ValueError(f"validation must lie in 0..{len(rows) - 1}, not {held_out}")
    order = np.random.RandomState(split).permutation(len(rows))
    cut = len(rows) - held_out
    train_rows, validation_rows = np.sort(rows[order[:cut]]), np.sort(rows[order[cut:]])
    inputs, targets = standardisation(table.x[train_rows]), standardisation(table.y[train_rows])

    def part(chosen: np.ndarray) -> Examples:
        try:
            return validate(inputs.apply(table.x[chosen]), targets.apply(table.y[chosen]), None)
        except ValueError as error:
            raise DataFormatError(table.path, str(error)) from error

    train, held, test = part(train_rows), part(validation_rows), part(test_rows)
    return Dataset(info.name, train, held, test, None, (), info.description, inputs, targets)


def packed_table(path: Path) -> Table:
    """An archive of `x`, `y`, `n` and `test_mask`: eight rows to a byte, first row in the highest bit."""
    arrays = read_npz(path, ("x", "y", "test_mask", "n"))
    x, y, packed, n = (arrays[name] for name in ("x", "y", "test_mask", "n"))
    if x.ndim != 2 or x.dtype.kind != "f" or y.dtype.kind != "f" or y.shape != (len(x),):
        raise DataFormatError(path, f"inputs {x.dtype} {x.shape} and targets {y.dtype} {y.shape} do not fit")
    if n.shape != () or n.dtype.kind not in "iu" or n != len(x):
        raise DataFormatError(path, f"the archive claims {n} rows but has {len(x)}")
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-len(x) // 8):
        raise DataFormatError(path, f"test_mask is {packed.dtype} {packed.shape}, which {n} rows do not fit")
    bits = np.unpackbits(packed, axis=1).astype(bool)
    if bits[:, len(x) :].any():
        raise DataFormatError(path, "test_mask marks rows that do not exist")
    return _checked(Table(path, x, y[:, None], bits[:, : len(x)]))


def text_table(paths: Mapping[str, Path], rows: int, features: int) -> Table:
    """``data.txt``, which of its columns are inputs and target, and the test rows of each split."""
    path = paths["data.txt"]
    numbers = read_table(path).astype(np.float32)
    inputs = read_indices(paths["index_features.txt"], numbers.shape[1])
    target = read_indices(paths["index_target.txt"], numbers.shape[1])
    if len(numbers) != rows or len(inputs) != features or len(target) != 1:
        found = f"{len(numbers)} rows, {len(inputs)} inputs and {len(target)} targets"
        raise DataFormatError(path, f"should have {rows} rows, {features} inputs and one target, has {found}")
    splits = sum(name.startswith("index_test_") for name in paths)
    test = np.zeros((splits, rows), bool)
    for split in range(splits):
        test[split, read_indices(paths[f"index_test_{split}.txt"], rows)] = True
    return _checked(Table(path, numbers[:, inputs], numbers[:, target], test))


def _checked(table: Table) -> Table:
    sizes = table.test.sum(axis=1)
    if not len(sizes) or not (sizes > 0).all() or not (sizes < len(table.x)).all():
        raise DataFormatError(table.path, "every split must have training rows and test rows")
    return table
