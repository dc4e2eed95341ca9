"""Hexagons against the nearest of all centres."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from symbayes.evaluate import hexagons


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 3))
def test_every_point_is_in_the_hexagon_of_the_nearest_centre(seed: int, width: float):
    rng = np.random.default_rng(seed)
    points = width * rng.uniform(-3, 3, size=(200, 2))
    side = np.arange(-5, 6)
    lattice = np.array([(i, math.sqrt(3) * j) for i in side for j in side])
    centres = width * np.concatenate([lattice, lattice + np.array([0.5, math.sqrt(3) / 2])])
    nearest = cKDTree(centres).query(points)[1]
    expected = {tuple(np.round(centres[n], 6)): int(np.sum(nearest == n)) for n in np.unique(nearest)}
    found = hexagons(points, width)
    assert {
        tuple(np.round(c, 6)): int(n) for c, n in zip(found.centres, found.counts, strict=True)
    } == expected


def test_how_many_hexagons_hold_a_share():
    points = np.repeat([[0.0, 0.0], [5.0, 0.0], [10.0, 0.0]], [6, 3, 1], axis=0)
    found = hexagons(points, 1.0)
    assert [found.holding(share) for share in (0.5, 0.6, 0.61, 0.95, 1.0)] == [1, 1, 2, 3, 3]


def test_bad_input_is_refused():
    for points, width, words in ((np.zeros(3), 1.0, "n, 2"), (np.zeros((3, 2)), 0.0, "positive")):
        with pytest.raises(ValueError, match=words):
            hexagons(points, width)
