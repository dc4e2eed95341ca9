"""PSIS-LOO against arviz-stats, WAIC against a transcription, both where leaving out is known."""

import math

import numpy as np
import pytest
from arviz_stats.base import array_stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from symbayes.evaluate import loo, waic

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from([(1, 30), (4, 25), (2, 300)]), st.floats(0.1, 4), st.sampled_from([1.0, 0.4]))
def test_loo_against_arviz(seed: int, sizes: tuple[int, int], spread: float, efficiency: float):
    rng = np.random.default_rng(seed)
    values = -spread * rng.gamma(1.5, size=(*sizes, 6)) + rng.normal(size=6)
    found = loo(values, efficiency)
    expected = [array_stats._loo(values[..., i], efficiency) for i in range(6)]
    np.testing.assert_allclose(found.pointwise, [each[0] for each in expected], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.shapes, [each[1] for each in expected], rtol=1e-7)
    assert found.parameters == pytest.approx(sum(each[2] for each in expected), rel=1e-7, abs=1e-8)
    assert found.error == pytest.approx(math.sqrt(6 * np.var([each[0] for each in expected])))


@settings(max_examples=10)
@given(SEEDS)
def test_waic_against_its_definition(seed: int):
    values = np.random.default_rng(seed).normal(size=(2, 5, 3))
    found, total, p = waic(values), 0.0, 0.0
    for i in range(3):
        each = [float(v) for v in values[..., i].ravel()]
        mean = sum(each) / 10
        variance = sum((v - mean) ** 2 for v in each) / 9
        total += math.log(sum(math.exp(v) for v in each) / 10) - variance
        p += variance
    assert found.elpd == pytest.approx(total)
    assert found.parameters == pytest.approx(p)


def test_both_tell_what_leaving_out_gives():
    """A mean with a normal prior: every point can be left out in closed form."""
    rng = np.random.default_rng(1)
    y, prior = rng.normal(0.5, 1, size=20), 2.0
    precision = 1 / prior**2 + 20
    mean = rng.normal(y.sum() / precision, precision**-0.5, size=(4, 2000, 1))
    values = norm.logpdf(y, mean)
    exact = 0.0
    for i in range(20):
        rest = np.delete(y, i)
        left = 1 / prior**2 + 19
        exact += norm.logpdf(y[i], rest.sum() / left, math.sqrt(1 + 1 / left))
    whole = norm.logpdf(y, y.sum() / precision, math.sqrt(1 + 1 / precision)).sum()
    for found in (loo(values), waic(values)):
        assert found.elpd == pytest.approx(exact, abs=0.1)
        assert found.parameters == pytest.approx(whole - exact, abs=0.1)
    assert loo(values).doubtful == 0
    apart, error = loo(values).minus(waic(values))
    assert abs(apart) < 0.1
    assert error < loo(values).error


def test_equal_weights_and_few_draws_are_told_apart():
    assert np.all(loo(np.zeros((2, 50, 3))).shapes == -np.inf)
    few = loo(np.random.default_rng(0).normal(size=(1, 10, 3)))
    assert np.all(few.shapes == np.inf)
    assert few.doubtful == 1


def test_bad_input_is_refused():
    good = np.zeros((1, 4, 3))
    for call, words in (
        (lambda: loo(np.zeros((4, 3))), "chain, draw, n"),
        (lambda: waic(np.zeros((1, 1, 3))), "two draws"),
        (lambda: loo(np.full((1, 4, 3), -np.inf)), "not finite"),
        (lambda: loo(good, efficiency=0.0), "efficiency"),
        (lambda: loo(good).minus(loo(good[..., :2])), "same points"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
