"""Calibration errors against examples worked by hand and plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import ace, classwise_ace, ece, reliability

SEEDS = st.integers(0, 2**32 - 1)


def two_classes(confidence: list[float]) -> np.ndarray:
    """Predictions for class 0 with these confidences."""
    return np.stack([np.array(confidence), 1 - np.array(confidence)], axis=1)


def random_case(seed: int, n: int, k: int, tied: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    if tied:  # multiples of 1/15: on the edges of the bins, and many equal
        probs = rng.multinomial(15, np.full(k, 1 / k), size=n) / 15
    else:
        probs = rng.dirichlet(np.full(k, 0.5), size=n)
    return probs, rng.integers(0, k, size=n)


def loop_ece(probs: np.ndarray, y: np.ndarray, bins: int) -> float:
    total = 0.0
    for b in range(bins):
        inside = [i for i, p in enumerate(probs) if b / bins < max(p) <= (b + 1) / bins]
        if inside:
            hits = [float(np.argmax(probs[i]) == y[i]) for i in inside]
            total += abs(sum(hits) - sum(max(probs[i]) for i in inside)) / len(y)
    return total


def loop_ace(score: np.ndarray, hit: np.ndarray, bins: int) -> float:
    """Bins of n // R points, the first n % R of them with one more; for scores without ties."""
    n, bins = len(score), min(bins, len(score))
    pairs, gaps = sorted(zip(score, hit, strict=True)), []
    for b in range(bins):
        size = n // bins + (b < n % bins)
        part, pairs = pairs[:size], pairs[size:]
        gaps.append(abs(sum(h for _, h in part) - sum(s for s, _ in part)) / size)
    return sum(gaps) / bins


def test_ece_by_hand():
    # Bins of width 1/2: one bin holds all, accuracy 2/4, mean confidence 0.75.
    probs = two_classes([0.6, 0.7, 0.8, 0.9])
    y = np.array([0, 0, 1, 1])
    assert ece(probs, y, bins=2) == pytest.approx(0.25)
    # Bins of width 1/5: (0.4, 0.6] hit at 0.6; (0.6, 0.8] 1/2 at 0.75; (0.8, 1] miss at 0.9.
    assert ece(probs, y, bins=5) == pytest.approx((0.4 + 2 * 0.25 + 0.9) / 4)


def test_points_on_edges_fall_in_one_bin_each():
    probs = two_classes([0.5, 0.75, 0.75, 1.0])
    diagram = reliability(probs, np.array([0, 0, 1, 1]), bins=4)
    assert diagram.count.tolist() == [0, 1, 2, 1]
    np.testing.assert_allclose(diagram.confidence, [np.nan, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(diagram.accuracy, [np.nan, 1.0, 0.5, 0.0])
    np.testing.assert_array_equal(diagram.edges, [0, 0.25, 0.5, 0.75, 1])
    assert ece(probs, np.array([0, 0, 1, 1]), bins=4) == pytest.approx((0.5 + 2 * 0.25 + 1.0) / 4)


def test_fractions_lie_on_their_edges():
    diagram = reliability(two_classes([i / 12 for i in range(6, 13)]), np.zeros(7, int), bins=12)
    assert diagram.count.tolist() == [0] * 5 + [1] * 7


def test_confidence_rounded_above_one_is_still_counted():
    diagram = reliability([[1.0000002, 0.0], [1.0, 0.0]], [0, 1])
    assert diagram.count.tolist() == [0] * 14 + [2]


def test_perfect_and_worst_calibration():
    probs = two_classes([1.0] * 6)
    for error in (ece, ace, classwise_ace):
        assert error(probs, np.zeros(6, int)) == 0.0
        assert error(probs, np.ones(6, int)) == 1.0


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.integers(1, 60), st.integers(2, 5), st.integers(1, 20), st.booleans())
def test_ece_is_the_plain_loop(seed: int, n: int, k: int, bins: int, tied: bool):
    probs, y = random_case(seed, n, k, tied)
    diagram = reliability(probs, y, bins)
    assert diagram.count.sum() == n
    assert ece(probs, y, bins) == pytest.approx(loop_ece(probs, y, bins), abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(SEEDS, st.integers(1, 60), st.integers(2, 5), st.integers(1, 20))
def test_ace_is_the_plain_loop(seed: int, n: int, k: int, bins: int):
    probs, y = random_case(seed, n, k, tied=False)
    top = loop_ace(probs.max(1), probs.argmax(1) == y, bins)
    assert ace(probs, y, bins) == pytest.approx(top, abs=1e-12)
    over_classes = np.mean([loop_ace(probs[:, c], y == c, bins) for c in range(k)])
    assert classwise_ace(probs, y, bins) == pytest.approx(over_classes, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(1, 60), st.integers(2, 4), st.integers(1, 20))
def test_order_of_the_data_does_not_matter_even_with_ties(seed: int, n: int, k: int, bins: int):
    probs, y = random_case(seed, n, k, tied=True)
    order = np.random.default_rng(seed).permutation(n)
    for error in (ece, ace, classwise_ace):
        assert error(probs[order], y[order], bins) == pytest.approx(error(probs, y, bins), abs=1e-12)


def test_top_label_and_classwise_forms_differ():
    probs = np.array([[0.8, 0.1, 0.1], [0.6, 0.3, 0.1]])
    y = np.array([0, 1])
    assert ace(probs, y, bins=1) == pytest.approx(abs(0.5 - 0.7))
    assert classwise_ace(probs, y, bins=1) == pytest.approx((0.2 + 0.3 + 0.1) / 3)


@pytest.mark.parametrize("error", [ece, ace, classwise_ace, reliability])
def test_bad_input_is_refused(error):
    with pytest.raises(ValueError, match="bins"):
        error([[0.5, 0.5]], [0], bins=0)
    with pytest.raises(ValueError, match="sum to one"):
        error([[0.5, 0.6]], [0])
