"""R-hat and effective sample size against arviz-stats, plain loops and chains whose answer is known."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import classical_rhat, convergence, ess_bulk, ess_tail, rhat

SEEDS = st.integers(0, 2**32 - 1)
ALL = [rhat, classical_rhat, ess_bulk, ess_tail]


def autoregressive(seed: int, chains: int, draws: int, correlation: np.ndarray) -> np.ndarray:
    """Stationary AR(1) chains (chain, draw, column) with unit variance, one correlation per column."""
    noise = np.random.default_rng(seed).normal(size=(chains, draws, len(correlation)))
    x = noise.copy()
    for t in range(1, draws):
        x[:, t] = correlation * x[:, t - 1] + np.sqrt(1 - correlation**2) * noise[:, t]
    return x


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(2, 5), st.integers(4, 90), st.floats(0, 2))
def test_agrees_with_arviz(seed: int, chains: int, draws: int, spread: float):
    x = autoregressive(seed, chains, draws, np.array([-0.9, -0.3, 0.0, 0.5, 0.9, 0.99]))
    x += spread * np.random.default_rng(seed + 1).normal(size=(chains, 1, 1))
    columns = np.moveaxis(x, 2, 0)
    np.testing.assert_allclose(rhat(x), array_stats.rhat(columns), rtol=1e-10)
    np.testing.assert_allclose(ess_bulk(x), array_stats.ess(columns), rtol=1e-8)


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(1, 5), st.integers(40, 90))
def test_tail_agrees_with_arviz(seed: int, chains: int, draws: int):
    x = autoregressive(seed, chains, draws, np.array([-0.5, 0.0, 0.5, 0.9]))
    expected = array_stats.ess(np.moveaxis(x, 2, 0), method="tail", prob=(0.05, 0.95))
    np.testing.assert_allclose(ess_tail(x), expected, rtol=1e-8)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(2, 4), st.integers(20, 60))
def test_ties_agree_with_arviz(seed: int, chains: int, draws: int):
    x = np.round(autoregressive(seed, chains, draws, np.array([0.2, 0.6, 0.8])))
    columns = np.moveaxis(x, 2, 0)
    np.testing.assert_allclose(rhat(x), array_stats.rhat(columns), rtol=1e-10)
    np.testing.assert_allclose(ess_bulk(x), array_stats.ess(columns), rtol=1e-8)


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(2, 5), st.integers(4, 40))
def test_classical_rhat_is_the_plain_loop(seed: int, chains: int, draws: int):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(chains, draws)) + rng.normal(size=(chains, 1))
    means = [sum(chain) / draws for chain in x]
    centre = sum(means) / chains
    between = sum((mean - centre) ** 2 for mean in means) / (chains - 1)
    within = sum((v - mean) ** 2 for chain, mean in zip(x, means, strict=True) for v in chain)
    within /= chains * (draws - 1)
    pooled = (draws - 1) / draws * within + between
    expected = (chains + 1) / chains * pooled / within - (draws - 1) / (chains * draws)
    assert classical_rhat(x) == pytest.approx(expected, rel=1e-10)
    # The square root of V / W without the correction for few chains is arviz's "identity".
    uncorrected = array_stats.rhat(x, method="identity") ** 2
    assert pooled / within == pytest.approx(float(uncorrected), rel=1e-10)


def test_effective_sample_size_of_known_chains():
    correlation = np.array([-0.5, 0.0, 0.5, 0.8])
    x = autoregressive(0, 8, 4000, correlation)
    expected = 8 * 4000 * (1 - correlation) / (1 + correlation)
    np.testing.assert_allclose(ess_bulk(x), expected, rtol=0.1)


def test_rhat_sees_what_the_classical_one_misses():
    rng = np.random.default_rng(0)
    scales = rng.normal(size=(4, 500)) * np.array([[1.0], [1.0], [1.0], [4.0]])
    drift = rng.normal(size=(4, 500)) + np.linspace(-2, 2, 500)
    x = np.stack([scales, drift], axis=2)
    assert (classical_rhat(x) < 1.02).all()
    assert (rhat(x) > 1.05).all()


def test_rhat_is_near_one_for_independent_draws():
    x = np.random.default_rng(1).normal(size=(4, 1000, 20))
    assert (np.abs(rhat(x) - 1) < 0.01).all()
    assert (np.abs(classical_rhat(x) - 1) < 0.01).all()


def test_ranks_make_rhat_and_bulk_invariant_under_monotone_maps():
    x = autoregressive(3, 4, 60, np.array([0.3, 0.7]))
    np.testing.assert_allclose(ess_bulk(np.exp(x)), ess_bulk(x), rtol=1e-12)
    np.testing.assert_allclose(ess_tail(2 * x + 1), ess_tail(x), rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e-30, 1 / 3])
@pytest.mark.parametrize("statistic", ALL)
def test_constant_columns_give_nan_and_leave_the_others_alone(statistic, value: float):
    x = autoregressive(4, 3, 50, np.array([0.1, 0.2, 0.3]))
    others = statistic(x[:, :, [0, 2]])
    x[:, :, 1] = value
    result = statistic(x)
    assert np.isnan(result[1])
    np.testing.assert_array_equal(result[[0, 2]], others)


def test_chains_that_stand_still_apart_have_infinite_rhat():
    x = np.repeat(np.array([[0.1], [0.2], [0.7]]), 50, axis=1)
    assert np.isinf(rhat(x))
    assert np.isinf(classical_rhat(x))
    assert ess_bulk(x) < 6


def test_two_values_of_equal_weight_are_judged_by_the_bulk():
    x = np.random.default_rng(5).permuted(np.tile([-1.0, 1.0], (4, 50)), axis=1)  # folds to a constant
    assert rhat(x) == pytest.approx(float(array_stats.rhat(x, method="z_scale")))


def test_a_saturated_tail_leaves_the_other_to_decide():
    x = np.minimum(autoregressive(6, 4, 200, np.array([0.5]))[:, :, 0], 0.5)
    low = array_stats.ess(x, method="quantile", prob=0.05)
    assert ess_tail(x) == pytest.approx(float(low), rel=1e-8)
    rare = np.zeros((4, 200))
    rare[1, 7] = -1.0  # both quantiles are zero, and no draw lies above
    assert np.isnan(ess_tail(rare))


@settings(deadline=None, max_examples=10)
@given(SEEDS, st.sampled_from([(), (1,), (7,), (2, 3), (0, 3)]), st.integers(1, 400))
def test_trailing_axes_and_chunks_do_not_matter(seed: int, trailing: tuple[int, ...], chunk: int):
    x = np.random.default_rng(seed).normal(size=(3, 21, *trailing))
    flat = x.reshape(3, 21, int(np.prod(trailing)))
    for statistic in ALL:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(convergence, "CHUNK", chunk)
            result = statistic(x)
        assert result.shape == trailing
        one_by_one = [float(statistic(flat[:, :, c])) for c in range(flat.shape[2])]
        np.testing.assert_allclose(result.ravel(), one_by_one, rtol=1e-12)


def test_no_more_columns_are_taken_at_once_than_memory_has_room_for(monkeypatch):
    monkeypatch.setattr(convergence, "CHUNK", 100)
    taken = []
    monkeypatch.setattr(
        convergence, "_rank_rhat", lambda columns: taken.append(columns.size) or columns[:, 0, 0]
    )
    rhat(np.random.default_rng(0).normal(size=(2, 8, 20)))
    assert taken == [96, 96, 96, 32]


@pytest.mark.parametrize("statistic", ALL)
def test_bad_input_is_refused(statistic):
    with pytest.raises(ValueError, match="4 draws"):
        statistic(np.zeros((4, 3, 2)))
    with pytest.raises(ValueError, match="chain, draw"):
        statistic(np.zeros(10))
    with pytest.raises(ValueError, match="chain, draw"):
        statistic(np.zeros((0, 10)))
    bad = np.random.default_rng(0).normal(size=(2, 10, 3))
    bad[1, 2, 2] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        statistic(bad)


def test_one_chain_is_enough_except_for_the_classical_form():
    x = np.random.default_rng(2).normal(size=(1, 100))
    halves = x.reshape(2, 50)
    assert rhat(x) == pytest.approx(float(_rank_rhat_of_whole_chains(halves)))
    assert ess_bulk(x) > 0
    with pytest.raises(ValueError, match="2 chains"):
        classical_rhat(x)


def _rank_rhat_of_whole_chains(x: np.ndarray) -> float:
    bulk = array_stats._rhat(array_stats._z_scale(x))
    folded = array_stats._rhat(array_stats._z_fold(x))
    return max(bulk, folded)
