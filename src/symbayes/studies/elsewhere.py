"""Inputs that are out of distribution, by name: those of another dataset, or of the same one in disorder."""

from __future__ import annotations

import numpy as np

from symbayes import data

SHUFFLED = ", pixels shuffled"
"""Ends the name of a dataset whose inputs keep their values and lose their places."""


def elsewhere(name: str) -> np.ndarray:
    """Test inputs that are out of distribution."""
    if not name.endswith(SHUFFLED):
        return np.asarray(data.load(name).test.x)
    x = np.asarray(data.load(name.removesuffix(SHUFFLED)).test.x)
    order = np.random.default_rng(0).permutation(x[0].size)
    return x.reshape(len(x), -1)[:, order].reshape(x.shape)
