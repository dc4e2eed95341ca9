"""Lanczos against a full decomposition, and the plane against a quadratic that is known everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import plane, top_eigenvalues
from symbayes.evaluate.plane import grid

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from([1, 2, 7, 90]), st.booleans())
def test_the_largest_eigenvalues(seed: int, size: int, degenerate: bool):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=size) ** 3
    if degenerate:
        values[size // 2 :] = 0
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    matrix = (basis * values) @ basis.T
    count = min(3, size)
    found = top_eigenvalues(lambda v: matrix @ v, size, count)
    top = values[np.argsort(-np.abs(values))]
    nonzero = min(len(found.values), np.sum(top[:count] != 0) + (not degenerate))
    np.testing.assert_allclose(found.values[:nonzero], top[:nonzero], rtol=1e-5, atol=1e-8)
    # Each bound holds for some eigenvalue.
    for value, bound in zip(found.values, found.bounds, strict=True):
        assert np.min(np.abs(values - value)) <= bound + 1e-9


def test_few_steps_say_how_far_they_are():
    values = np.linspace(0, 1, 300)
    found = top_eigenvalues(lambda v: values * v, 300, 1, steps=5)
    assert found.bounds[0] > 1e-4
    assert np.min(np.abs(values - found.values[0])) <= found.bounds[0]


@settings(max_examples=10)
@given(SEEDS)
def test_a_plane_holds_its_three_networks_and_keeps_lengths(seed: int):
    rng = np.random.default_rng(seed)
    trees = [{"a": rng.normal(size=(2, 3)), "b": rng.normal(size=2)} for _ in range(3)]
    flat = [np.concatenate([tree["a"].ravel(), tree["b"]]) for tree in trees]
    places = grid(flat, 5)
    for i in range(3):
        for j in range(3):
            length = np.linalg.norm(flat[i] - flat[j])
            assert np.linalg.norm(places.corners[i] - places.corners[j]) == pytest.approx(length)

    def distance(tree):
        return np.sum((np.concatenate([tree["a"].ravel(), tree["b"]]) - flat[1]) ** 2)

    found = plane(distance, trees, 5)
    # The squared distance from a network of the plane is that of the picture.
    x, y = np.meshgrid(found.x, found.y)
    expected = (x - found.corners[1, 0]) ** 2 + (y - found.corners[1, 1]) ** 2
    np.testing.assert_allclose(found.values, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(places.shares.sum(-1), 1)


def test_bad_input_is_refused():
    w = np.arange(4.0)
    for call, words in (
        (lambda: grid([w, 2 * w, 3 * w]), "one line"),
        (lambda: grid([w, w + 1]), "three networks"),
        (lambda: grid([w, w**2, w**3], 1), "at least 2"),
        (lambda: top_eigenvalues(lambda v: v, 3, 4), "from 1 to 3"),
        (lambda: top_eigenvalues(lambda v: v * np.nan, 3, 1), "finite"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
