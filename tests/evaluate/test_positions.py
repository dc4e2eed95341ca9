"""Scores of outputs with positions: intersections by hand, and maps that average to the scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from symbayes import evaluate

SEEDS = st.integers(0, 2**32 - 1)


def test_intersection_over_union_by_hand() -> None:
    guesses, y = np.array([[0, 0, 1, 1]]), np.array([[0, 1, 1, 1]])
    probs = np.eye(4)[guesses]
    counts = evaluate.confusion(probs, y)
    assert counts[0].tolist() == [1, 0, 0, 0]
    assert counts[1].tolist() == [1, 2, 0, 0]
    np.testing.assert_allclose(evaluate.class_iou(counts), [1 / 2, 2 / 3, np.nan, np.nan])
    assert evaluate.mean_iou(probs, y) == pytest.approx((1 / 2 + 2 / 3) / 2)


@given(SEEDS, st.integers(2, 5), st.sampled_from([(), (3,), (2, 3)]))
def test_confusion_is_that_of_scikit_learn(seed: int, k: int, positions: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    probs, y = rng.dirichlet(np.ones(k), size=(4, *positions)), rng.integers(0, k, (4, *positions))
    expected = confusion_matrix(y.ravel(), probs.argmax(-1).ravel(), labels=range(k))
    np.testing.assert_array_equal(evaluate.confusion(probs, y), expected)


@given(SEEDS)
def test_maps_average_to_the_scores(seed: int) -> None:
    rng = np.random.default_rng(seed)
    probs, y = rng.dirichlet(np.ones(3), size=(5, 2, 4)), rng.integers(0, 3, (5, 2, 4))
    maps = evaluate.class_maps(probs, y)
    for name in ("accuracy", "nll", "brier"):
        found = getattr(maps, name)
        assert found.shape == (2, 4)
        assert found.mean() == pytest.approx(getattr(evaluate, name)(probs, y))
        assert found[1, 2] == pytest.approx(getattr(evaluate, name)(probs[:, 1, 2], y[:, 1, 2]))
    assert maps.entropy[0, 1] == pytest.approx(evaluate.mean_entropy(probs[:, 0, 1]))
    means, scale, targets = rng.normal(size=(3, 5, 2, 4, 2)), 0.6, rng.normal(size=(5, 2, 4, 2))
    reals = evaluate.real_maps(means, scale, targets)
    assert reals.rmse.shape == (2, 4)
    assert reals.rmse[1, 3] == pytest.approx(evaluate.rmse(means.mean(0)[:, 1, 3], targets[:, 1, 3]))
    assert reals.nll[1, 3] == pytest.approx(evaluate.mixture_nll(means[:, :, 1, 3], 0.6, targets[:, 1, 3]))
