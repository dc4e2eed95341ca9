"""IMDB film reviews as tokens of a vocabulary of 20,000."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from symbayes.data.examples import Dataset, Examples, validate
from symbayes.data.formats import DataFormatError, pad_ragged, read_npz
from symbayes.data.images import dataset
from symbayes.data.source import Info

VOCABULARY = 20_000
LENGTH = 100
"""The length that Izmailov et al. (2021) use, who also take 20,000 words and 20,000 training reviews."""


def read_imdb(info: Info, paths: Mapping[str, Path], validation: int = 5000, length: int = LENGTH) -> Dataset:
    """The last `length` tokens of each review, shorter ones with zeros in front.

    The file is sorted by label, so each part is shuffled once by ``RandomState(0)``.
    """
    (path,) = paths.values()
    train, test = (_part(info, path, part, length) for part in ("train", "test"))
    return replace(dataset(info, train, test, validation), vocabulary=VOCABULARY)


def _part(info: Info, path: Path, part: str, length: int) -> Examples:
    names = f"{part}_ids", f"{part}_offsets", f"y_{part}"
    arrays = read_npz(path, names)
    ids, offsets, labels = (arrays[name] for name in names)
    x = pad_ragged(path, ids, offsets, VOCABULARY, length)
    if labels.shape != (len(x),) or labels.dtype != np.uint8:
        raise DataFormatError(path, f"labels must be bytes ({len(x)},), not {labels.dtype} {labels.shape}")
    order = np.random.RandomState(0).permutation(len(x))
    try:
        return validate(x[order], labels[order].astype(np.int32), info.classes)
    except ValueError as error:
        raise DataFormatError(path, str(error)) from error
