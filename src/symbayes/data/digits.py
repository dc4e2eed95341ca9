"""scikit-learn's handwritten digits: 1,797 real 8x8 images, always at hand."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

from symbayes.data.examples import Dataset, Examples, validate
from symbayes.data.images import dataset
from symbayes.data.source import Info

TRAIN_AND_VALIDATION = 1437


def read_digits(info: Info, paths: Mapping[str, Path], validation: int = 180) -> Dataset:
    """1,257 / 180 / 360 images (8, 8, 1), shuffled once by ``RandomState(0)``; `paths` is empty."""
    x, labels = _shuffled()
    return _parts(info, validate(x, labels, 10), validation)


def read_halves(info: Info, paths: Mapping[str, Path], validation: int = 180) -> Dataset:
    """The same images in the same order: their left halves (8, 4, 1) and, as targets, their right halves."""
    x, _ = _shuffled()
    return _parts(info, validate(x[:, :, :4].copy(), x[:, :, 4:].copy(), None), validation)


def _shuffled() -> tuple[np.ndarray, np.ndarray]:
    rows = np.loadtxt(_file(), delimiter=",")
    rows = rows[np.random.RandomState(0).permutation(len(rows))]
    return (rows[:, :-1].reshape(-1, 8, 8, 1) / 16).astype(np.float32), rows[:, -1].astype(np.int32)


def _file() -> Path:
    """Found without importing scikit-learn, which takes longer than all else that a short command does."""
    return Path(str(distribution("scikit-learn").locate_file("sklearn/datasets/data/digits.csv.gz")))


def _parts(info: Info, full: Examples, validation: int) -> Dataset:
    return dataset(info, full[:TRAIN_AND_VALIDATION], full[TRAIN_AND_VALIDATION:], validation)
