"""Scores against scikit-learn, closed forms and plain loops."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from symbayes.evaluate import accuracy, brier, nll

SEEDS = st.integers(0, 2**32 - 1)


def labelled(seed: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(k, 0.7), size=n), rng.integers(0, k, size=n)


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(1, 40), st.integers(2, 7))
def test_agrees_with_scikit_learn(seed: int, n: int, k: int):
    probs, y = labelled(seed, n, k)
    classes = list(range(k))
    assert accuracy(probs, y) == pytest.approx(accuracy_score(y, probs.argmax(1)), abs=1e-12)
    assert nll(probs, y) == pytest.approx(log_loss(y, probs, labels=classes), rel=1e-10)
    expected = brier_score_loss(y, probs, labels=classes, scale_by_half=False)
    assert brier(probs, y) == pytest.approx(expected, rel=1e-10)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(2, 40))
def test_binary_brier_is_twice_the_score_of_one_class(seed: int, n: int):
    probs, y = labelled(seed, n, 2)
    one_class = brier_score_loss(y, probs[:, 1], labels=[0, 1], scale_by_half=True)
    assert brier(probs, y) == pytest.approx(2 * one_class, rel=1e-10)


def test_closed_forms():
    uniform, y = np.full((3, 4), 0.25), np.array([0, 3, 2])
    assert nll(uniform, y) == pytest.approx(math.log(4))
    assert brier(uniform, y) == pytest.approx(0.75)
    assert accuracy(uniform, y) == pytest.approx(1 / 3)  # of equal maxima the first counts
    assert brier([[1.0, 0.0]], [1]) == 2.0


def test_an_impossible_label_costs_the_smallest_normal_float32():
    assert nll([[1.0, 0.0]], [1]) == pytest.approx(-math.log(np.finfo(np.float32).tiny))
    assert nll([[1.0, 1e-37]], [1]) == pytest.approx(37 * math.log(10))  # not clipped


def test_jax_arrays_and_low_precision_are_accepted():
    probs, y = labelled(0, 9, 3)
    low = jnp.asarray(probs, dtype=jnp.float32)
    assert nll(low, jnp.asarray(y)) == pytest.approx(nll(probs, y), rel=1e-5)
    assert isinstance(nll(low, jnp.asarray(y)), float)


@pytest.mark.parametrize(
    ("probs", "y", "message"),
    [
        ([[0.6, 0.6]], [0], "sum to one"),
        ([[1.5, -0.5]], [0], "negative"),
        ([[np.nan, 1.0]], [0], "not finite"),
        ([[0.5, 0.5]], [2], "lie in 0..1"),
        ([[0.5, 0.5]], [-1], "lie in 0..1"),
        ([[0.5, 0.5]], [0, 1], "shape"),
        ([0.5, 0.5], [0], "shape"),
        (np.zeros((0, 2)), np.zeros(0, int), "is empty"),
        (np.zeros((2, 0)), [0, 0], "over classes"),
    ],
)
@pytest.mark.parametrize("score", [accuracy, nll, brier])
def test_bad_input_is_refused(score, probs, y, message: str):
    with pytest.raises(ValueError, match=message):
        score(probs, y)


def test_labels_must_be_integers():
    with pytest.raises(TypeError, match="integer"):
        accuracy([[0.5, 0.5]], [0.0])


def test_row_sums_within_a_thousandth_pass():
    assert accuracy([[0.5004, 0.5004]], [0]) == 1.0
    with pytest.raises(ValueError, match=r"off by up to 0\.0012"):
        accuracy([[0.5006, 0.5006]], [0])
