"""Entropy and mutual information against closed forms and SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

from symbayes.evaluate import entropy, mutual_information

SEEDS = st.integers(0, 2**32 - 1)


def test_entropy_closed_forms():
    np.testing.assert_allclose(entropy(np.full((2, 5), 0.2)), math.log(5))
    assert entropy([0.0, 1.0, 0.0]) == 0.0


def test_two_draws_that_disagree_hold_one_bit():
    draws = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    np.testing.assert_allclose(mutual_information(draws), [math.log(2)])


def test_draws_that_agree_hold_nothing():
    one = np.random.default_rng(0).dirichlet(np.ones(4), size=6)
    np.testing.assert_allclose(mutual_information(np.stack([one] * 7)), 0, atol=1e-14)


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(1, 6), st.integers(1, 5), st.integers(2, 6))
def test_mutual_information_is_the_mean_divergence_from_the_mean(seed: int, s: int, n: int, k: int):
    probs = np.random.default_rng(seed).dirichlet(np.full(k, 0.3), size=(s, n, 2))
    value = mutual_information(probs)
    assert value.shape == (n, 2)
    # Jensen-Shannon form: the mean over draws of KL(draw || mean).
    mean = probs.mean(axis=0, keepdims=True)
    divergence = scipy_entropy(probs, np.broadcast_to(mean, probs.shape), axis=-1).mean(axis=0)
    np.testing.assert_allclose(value, divergence, atol=1e-12)
    assert (value > -1e-12).all()
    assert (value < math.log(k) + 1e-12).all()
    np.testing.assert_allclose(entropy(probs), scipy_entropy(probs, axis=-1), atol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="draws"):
        mutual_information(np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match="probs is empty"):
        mutual_information(np.zeros((0, 3, 2)))
    with pytest.raises(ValueError, match="not logits"):
        entropy([2.0, 3.0])
