"""Risk against coverage: by hand, where all is right or wrong, and where points are equally sure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbayes.evaluate import augrc, aurc, coverage_at_risk, risk_coverage, risk_coverage_of


def two_classes(confidence: list[float]) -> np.ndarray:
    """Predictions for class 0 with these confidences."""
    return np.stack([np.array(confidence), 1 - np.array(confidence)], axis=1)


def test_by_hand() -> None:
    probs, y = two_classes([0.9, 0.6, 0.8, 0.7]), np.array([0, 1, 1, 0])  # in order: hit, miss, hit, miss
    curve = risk_coverage_of(probs, y)
    np.testing.assert_allclose(curve.coverage, [0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(curve.risk, [0, 1 / 2, 1 / 3, 1 / 2])
    np.testing.assert_allclose(curve.generalised, [0, 1 / 4, 1 / 4, 1 / 2])
    assert aurc(probs, y) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert augrc(probs, y) == pytest.approx((0 + 1 / 4 + 1 / 4 + 1 / 4) / 4)
    assert coverage_at_risk(probs, y) == 0.25
    assert coverage_at_risk(probs, y, risk=0.34) == 0.75
    assert coverage_at_risk(probs, y, risk=0.5) == 1.0


def test_all_right_and_all_wrong() -> None:
    probs = two_classes([0.9, 0.8, 0.7])
    right, wrong = np.zeros(3, int), np.ones(3, int)
    assert [f(probs, right) for f in (aurc, augrc, coverage_at_risk)] == [0, 0, 1]
    assert [f(probs, wrong) for f in (aurc, augrc, coverage_at_risk)] == [1, 0.5, 0]


def test_points_that_are_equally_sure_are_kept_together() -> None:
    probs, y = two_classes([0.9, 0.9, 0.9, 0.9]), np.array([0, 0, 0, 1])
    assert aurc(probs, y) == 0.25
    assert coverage_at_risk(probs, y, risk=0.2) == 0.0, "no threshold keeps three of the four"
    assert coverage_at_risk(probs, y, risk=0.25) == 1.0
    probs, y = two_classes([0.95, 0.9, 0.9]), np.array([0, 0, 1])
    assert coverage_at_risk(probs, y, risk=0.3) == pytest.approx(1 / 3), "not one of the two that are alike"


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_order_of_the_data_does_not_matter(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    doubt, losses = rng.integers(0, 4, n) / 4, rng.random(n)
    order = rng.permutation(n)
    first, second = risk_coverage(doubt, losses), risk_coverage(doubt[order], losses[order])
    np.testing.assert_allclose(first.risk, second.risk)
    np.testing.assert_array_equal(first.last, second.last)
    assert first.risk[-1] == pytest.approx(losses.mean())


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"doubt and losses must have one shape \(n,\)"):
        risk_coverage([0.1, 0.2], [1.0])
    with pytest.raises(ValueError, match="losses holds values that are not finite"):
        risk_coverage([0.1], [np.nan])
    with pytest.raises(ValueError, match=r"risk is a share from 0 to 1, not 5\.0"):
        coverage_at_risk([[1.0, 0.0]], [0], risk=5.0)
