"""Conformal sets and intervals: they cover as often as they say, by the law of the rank."""

import numpy as np
import pytest
from scipy.special import softmax

from symbayes.evaluate.recalibration import ConformalIntervals, ConformalSets, conformal_quantile

STANDARD_ERRORS = 4.5


def exchangeable(rng: np.random.Generator, n: int, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Predictions that are badly calibrated, with labels that follow other probabilities."""
    z = rng.normal(size=(n, k))
    y = np.array([rng.choice(k, p=p) for p in softmax(z, axis=1)])
    return softmax(3 * z, axis=1), y


@pytest.mark.parametrize("form", ["threshold", "APS", "RAPS"])
def test_sets_cover_as_often_as_they_say(form) -> None:
    """On average ceil((n + 1) level) / (n + 1), and a bit more since the most probable class is always in."""
    seed = np.random.SeedSequence().entropy
    rng, found = np.random.default_rng(seed), []
    for _ in range(150):
        probs, y = exchangeable(rng, 139)
        fitted = ConformalSets.fit(probs[:39], y[:39], 0.8, form)
        sets = fitted.sets(probs[39:])
        assert sets.any(axis=1).all(), "no set is empty"
        found.append(sets[np.arange(100), y[39:]].mean())
    error = np.std(found) / np.sqrt(len(found))
    assert 0.8 - STANDARD_ERRORS * error < np.mean(found) < 0.8 + 1 / 40 + 0.05, seed


def test_intervals_cover_as_often_as_they_say() -> None:
    seed = np.random.SeedSequence().entropy
    rng, found = np.random.default_rng(seed), []
    for _ in range(200):
        y = rng.standard_t(3, 139)
        low, high = np.full(139, -0.2), np.full(139, 0.2)  # far too narrow
        moved = ConformalIntervals.fit(low[:39], high[:39], y[:39], 0.8).apply(low[39:], high[39:])
        found.append(np.mean((moved[0] <= y[39:]) & (y[39:] <= moved[1])))
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - 0.8) < STANDARD_ERRORS * error, seed


def test_the_rank_by_hand() -> None:
    assert conformal_quantile(np.arange(9.0), 0.9) == 8.0  # the 9th of 9
    assert conformal_quantile(np.arange(8.0), 0.9) == float("inf")
    assert conformal_quantile(np.arange(19.0), 0.9) == 17.0
    probs = np.array([[0.5, 0.3, 0.2]])
    assert ConformalSets("APS", 0.9, 0.8).sets(probs).tolist() == [[True, True, False]]
    assert ConformalSets("threshold", 0.9, 0.75).sets(probs).tolist() == [[True, True, False]]
    assert ConformalSets("threshold", 0.9, 0.1).sets(probs).tolist() == [[True, False, False]]
    assert ConformalSets("RAPS", 0.9, float("inf")).sets(probs).all()
    many = np.full((1, 8), 1 / 8)
    assert ConformalSets("APS", 0.9, 1.0).sets(many).sum() == 8
    assert ConformalSets("RAPS", 0.9, 1.0).sets(many).sum() == 7, "the 8th costs 3 ranks more"


def test_intervals_may_shrink_but_not_cross() -> None:
    fitted = ConformalIntervals.fit(np.full(20, -5.0), np.full(20, 5.0), np.zeros(20))
    assert fitted.margin == -5.0
    low, high = fitted.apply([-5.0, -1.0], [5.0, 2.0])
    np.testing.assert_array_equal(low, [0.0, 0.5])
    np.testing.assert_array_equal(high, [0.0, 0.5])


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lower, upper and y must have one shape"):
        ConformalIntervals.fit([0.0], [1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match="scores is empty"):
        conformal_quantile([], 0.9)
    with pytest.raises(ValueError, match="level is a probability between 0 and 1"):
        conformal_quantile([1.0], 90.0)
    with pytest.raises(ValueError, match="y must have shape"):
        ConformalSets.fit([[0.5, 0.5]], [0, 1])
