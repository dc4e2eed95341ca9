"""CRPS of a single normal in closed form, both ways to it, and quantiles that are met."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from symbayes.evaluate import crps, pit_histogram, quantile_error, width
from symbayes.evaluate.quantiles import _integrated, _over_pairs, crps_losses


@given(st.floats(-4, 4), st.floats(0.05, 5), st.floats(-4, 4))
def test_crps_of_one_normal(mean: float, scale: float, y: float) -> None:
    """Gneiting and Raftery (2007), equation 21."""
    z = (y - mean) / scale
    expected = scale * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    assert crps([[[mean]]], scale, [[y]]) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(150, 300))
def test_both_ways_to_the_spread_agree(seed: int, draws: int) -> None:
    rng = np.random.default_rng(seed)
    means, scales = rng.normal(size=(draws, 3, 1)), rng.uniform(0.5, 2, (draws, 3, 1))
    m, sigma = means[:, :, 0], scales[:, :, 0]
    pairs = np.array([_over_pairs(m[:, j], sigma[:, j]) for j in range(3)])
    ends = (m - 8 * sigma).min(axis=0), (m + 8 * sigma).max(axis=0)
    steps = int(np.ceil(2 * (ends[1] - ends[0]) / sigma.min(axis=0)).max())
    assert steps < draws, "the quicker way is the integral"
    np.testing.assert_allclose(_integrated(m, sigma, *ends, steps), pairs, rtol=1e-10)
    y = rng.normal(size=(3, 1))
    distance = [np.abs(rng.normal(m[:, j], sigma[:, j], (20_000, draws)) - y[j]).mean() for j in range(3)]
    np.testing.assert_allclose(crps_losses(means, scales, y), distance - pairs / 2, atol=0.01)


def test_a_point_far_off_costs_its_distance() -> None:
    assert crps([[[0.0]]], 1e-9, [[3.0]]) == pytest.approx(3.0, abs=1e-8)


def test_quantiles_that_are_met_and_missed() -> None:
    levels = (np.arange(1000) + 0.5) / 1000
    y = norm.ppf(levels)[:, None]
    means = np.zeros((1, 1000, 1))
    assert quantile_error(means, 1.0, y) < 1e-3
    assert quantile_error(means, 1e-6, y) == pytest.approx(0.25, abs=0.01), "half are below every quantile"
    counts, edges = pit_histogram(means, 1.0, y, bins=10)
    assert counts.tolist() == [100] * 10
    assert len(edges) == 11
    assert width(means, 2.0) == pytest.approx(4 * norm.ppf(0.95))


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"y must have shape \(2, 1\) to match means"):
        crps(np.zeros((1, 2, 1)), 1.0, np.zeros((3, 1)))
    with pytest.raises(ValueError, match="scale must be positive"):
        quantile_error(np.zeros((1, 2, 1)), 0.0, np.zeros((2, 1)))
    with pytest.raises(ValueError, match="bins must be at least 1"):
        pit_histogram(np.zeros((1, 2, 1)), 1.0, np.zeros((2, 1)), bins=0)
    with pytest.raises(ValueError, match="level is a probability"):
        width(np.zeros((1, 2, 1)), 1.0, level=90.0)
