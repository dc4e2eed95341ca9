"""scikit-learn's handwritten digits: 1,797 real 8x8 images, always at hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symbayes.data.examples import Dataset, validate
from symbayes.data.images import dataset
from symbayes.data.source import Info

TRAIN_AND_VALIDATION = 1437


def read_digits(info: Info, paths: Mapping[str, Path], validation: int = 180) -> Dataset:
    """1,257 / 180 / 360 images (8, 8, 1), shuffled once by ``RandomState(0)``; `paths` is empty."""
    from sklearn.datasets import load_digits  # slow to import, and only this dataset needs it

    bunch: Any = load_digits()
    order = np.random.RandomState(0).permutation(len(bunch.target))
    x = (bunch.images[order, :, :, None] / 16).astype(np.float32)
    full = validate(x, bunch.target[order].astype(np.int32), 10)
    return dataset(info, full[:TRAIN_AND_VALIDATION], full[TRAIN_AND_VALIDATION:], validation)
