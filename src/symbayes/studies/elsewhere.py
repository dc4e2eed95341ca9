"""Out-of-distribution inputs, by name: another dataset, or the same one with its pixels shuffled."""

from __future__ import annotations

import numpy as np

from symbayes import data

SHUFFLED = ", pixels shuffled"
"""The end of the name of a dataset whose pixels are shuffled, all images in the same way."""


def elsewhere(name: str) -> np.ndarray:
    """The test inputs of a dataset, with pixels shuffled if its name says so."""
    if not name.endswith(SHUFFLED):
        return np.asarray(data.load(name).test.x)
    x = np.asarray(data.load(name.removesuffix(SHUFFLED)).test.x)
    order = np.random.default_rng(0).permutation(x[0].size)
    return x.reshape(len(x), -1)[:, order].reshape(x.shape)
