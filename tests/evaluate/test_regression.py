"""Scores of real-valued predictions against plain loops, scipy and closed forms."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import kstest, norm

from symbayes.evaluate import (
    coverage,
    mean_distance,
    mixture_cdf,
    mixture_log_density,
    mixture_nll,
    mixture_quantile,
    mixture_total_variation,
    rmse,
)

SEEDS = st.integers(0, 2**32 - 1)


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(1, 5), st.integers(1, 6), st.integers(1, 3))
def test_mixture_nll_is_the_density_averaged_over_draws(seed: int, s: int, n: int, d: int):
    rng = np.random.default_rng(seed)
    means, y, scale = rng.normal(size=(s, n, d)), rng.normal(size=(n, d)), rng.uniform(0.5, 2, size=d)
    total = 0.0
    for i in range(n):
        density = sum(
            math.prod(norm.pdf(y[i, j], means[r, i, j], scale[j]) for j in range(d)) for r in range(s)
        )
        total -= math.log(density / s)
    assert mixture_nll(means, scale, y) == pytest.approx(total / n, rel=1e-9, abs=1e-12)


def test_mixture_nll_survives_densities_that_underflow():
    far = mixture_nll(np.zeros((2, 1, 1)), 1.0, np.array([[100.0]]))
    assert far == pytest.approx(5000 + 0.5 * math.log(2 * math.pi))


def test_rmse():
    assert rmse([[0.0], [0.0]], [[3.0], [4.0]]) == pytest.approx(math.sqrt(12.5))
    with pytest.raises(ValueError, match="one shape"):  # (n,) against (n, 1) would broadcast to (n, n)
        rmse(np.zeros(3), np.zeros((3, 1)))


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(1, 5), st.integers(1, 6))
def test_mean_of_the_log_densities_is_the_nll(seed: int, s: int, n: int):
    rng = np.random.default_rng(seed)
    means, scale, y = rng.normal(size=(s, n, 2)), rng.uniform(0.2, 3, size=(s, n, 2)), rng.normal(size=(n, 2))
    each = mixture_log_density(means, scale, y)
    assert each.shape == (n,)
    assert -each.mean() == pytest.approx(mixture_nll(means, scale, y))
    one = mixture_log_density(means[:, :1], scale[:, :1], y[:1])
    np.testing.assert_allclose(one, each[:1], rtol=1e-12, err_msg="points do not depend on one another")


def test_a_mixture_of_one_is_the_normal():
    rng = np.random.default_rng(0)
    means, scale, y = (
        rng.normal(size=(1, 20, 3)),
        rng.uniform(0.5, 2, size=(1, 20, 3)),
        rng.normal(size=(20, 3)),
    )
    expected = norm.logpdf(y, means[0], scale[0]).sum(axis=1)
    np.testing.assert_allclose(mixture_log_density(means, scale, y), expected, rtol=1e-10)
    np.testing.assert_allclose(mixture_cdf(means, scale, y), norm.cdf(y, means[0], scale[0]), rtol=1e-10)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.floats(0.05, 0.99))
def test_coverage_is_by_the_mixtures_own_quantiles(seed: int, level: float):
    """The quantiles found by bisection, and the targets counted between them."""
    rng = np.random.default_rng(seed)
    means, scale = 3 * rng.normal(size=(4, 7, 2)), rng.uniform(0.2, 2, size=(4, 7, 2))
    y = 3 * rng.normal(size=(7, 2))

    def quantile(i: int, j: int, p: float) -> float:
        return brentq(lambda v: norm.cdf(v, means[:, i, j], scale[:, i, j]).mean() - p, -60, 60, xtol=1e-12)

    inside = [
        quantile(i, j, (1 - level) / 2) <= y[i, j] <= quantile(i, j, (1 + level) / 2)
        for i in range(7)
        for j in range(2)
    ]
    assert coverage(means, scale, y, level) == pytest.approx(np.mean(inside), abs=1e-12)


def test_targets_of_the_mixture_itself_are_covered():
    """Seven standard errors; the transform of such targets is uniform."""
    rng = np.random.default_rng(1)
    n = 4000
    means, scale = 2 * rng.normal(size=(5, n, 1)), rng.uniform(0.2, 2, size=(5, n, 1))
    chosen = rng.integers(0, 5, size=n), np.arange(n)
    y = rng.normal(means[chosen], scale[chosen])
    assert kstest(mixture_cdf(means, scale, y).ravel(), "uniform").pvalue > 1e-3
    for level in (0.5, 0.9, 0.95):
        assert abs(coverage(means, scale, y, level) - level) < 7 * math.sqrt(level * (1 - level) / n)
    assert coverage(means, 10 * scale, y, 0.5) > 0.9, "too wide"
    assert coverage(means[:1], 0.01 * scale[:1], y, 0.5) < 0.1, "too narrow"


def test_closed_forms_of_coverage():
    means, y = np.zeros((1, 4, 1)), np.array([[0.0], [1.0], [-1.9], [2.1]])
    assert coverage(means, 1.0, y, 0.95) == 0.75  # within 1.96
    assert coverage(means, 1.0, y, 0.5) == 0.25  # within 0.67
    assert coverage(means, 1.0, y) == 0.5  # 90 % by default: within 1.64


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, math.nan])
def test_level_is_a_probability(level: float):
    with pytest.raises(ValueError, match="level is a probability between 0 and 1"):
        coverage(np.zeros((1, 1, 1)), 1.0, np.zeros((1, 1)), level)


@pytest.mark.parametrize(
    ("means", "scale", "y", "message"),
    [
        (np.zeros((2, 3)), 1.0, np.zeros((3, 1)), "shape"),
        (np.zeros((2, 3, 1)), 1.0, np.zeros(3), "shape"),
        (np.zeros((2, 3, 1)), 0.0, np.zeros((3, 1)), "positive"),
        (np.zeros((2, 3, 1)), np.ones(4), np.zeros((3, 1)), "broadcast"),
        (np.full((2, 3, 1), np.inf), 1.0, np.zeros((3, 1)), "not finite"),
        (np.zeros((0, 3, 1)), 1.0, np.zeros((3, 1)), "empty"),
    ],
)
@pytest.mark.parametrize("score", [mixture_nll, mixture_log_density, mixture_cdf, coverage])
def test_bad_regression_input_is_refused(score: Any, means: Any, scale: Any, y: Any, message: str):
    with pytest.raises(ValueError, match=message):
        score(means, scale, y)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.floats(0.001, 0.999))
def test_quantiles_are_where_the_probability_is(seed: int, q: float):
    rng = np.random.default_rng(seed)
    means, scale = 5 * rng.normal(size=(4, 3, 2, 2)), rng.uniform(0.01, 2, size=(4, 3, 2, 2))
    found = mixture_quantile(means, scale, q)
    assert found.shape == (3, 2, 2)
    np.testing.assert_allclose(mixture_cdf(means, scale, found), q, atol=1e-9)


def test_distances_of_two_normals_in_closed_form():
    """Between N(0, 1) and N(t, 1) the total variation is 2 Phi(t/2) - 1."""
    zero = np.zeros((1, 1, 1))
    for t in (0.0, 0.5, 0.77, 2.0, 30.0):
        assert mixture_total_variation(zero, 1.0, zero + t, 1.0) == pytest.approx(
            2 * norm.cdf(t / 2) - 1, abs=1e-5
        )
        assert mean_distance(zero, 1.0, zero + t, 2.0) == pytest.approx(t / 2)


def test_many_outputs_are_thinned_to_bound_the_work(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    means = rng.normal(size=(3, 50, 1))
    everything = mixture_total_variation(means, 1.0, means + 0.5, 1.0)
    monkeypatch.setattr("symbayes.evaluate.mixtures.WORK", 6 * 200 * 10)
    some = mixture_total_variation(means, 1.0, means + 0.5, 1.0)
    assert some != everything
    assert some == pytest.approx(everything, abs=0.05)


def test_mixtures_that_cannot_be_compared_are_refused():
    zero = np.zeros((2, 3, 1))
    for distance in (mean_distance, mixture_total_variation):
        with pytest.raises(ValueError, match="means and other_means must have one shape but for the draws"):
            distance(zero, 1.0, np.zeros((2, 4, 1)), 1.0)
        with pytest.raises(ValueError, match="other_scale must be positive"):
            distance(zero, 1.0, zero, 0.0)
    with pytest.raises(ValueError, match=r"q is a probability between 0 and 1, not 1\.0"):
        mixture_quantile(zero, 1.0, 1.0)
