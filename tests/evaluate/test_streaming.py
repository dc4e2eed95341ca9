"""The streamed form gives what the batch form gives, however the draws are cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import RunningMixture, RunningMoments, RunningPredictive, entropy, mutual_information
from symbayes.evaluate.streaming import CACHED

SEEDS = st.integers(0, 2**32 - 1)
CUTS = st.lists(st.integers(0, 30), max_size=8)


@settings(deadline=None, max_examples=40)
@given(SEEDS, CUTS, st.integers(1, 30))
def test_predictive_does_not_depend_on_the_blocks(seed: int, cuts: list[int], draws: int):
    probs = np.random.default_rng(seed).dirichlet(np.full(3, 0.4), size=(draws, 5))
    running = RunningPredictive.init((5, 3))
    for block in np.split(probs, sorted(cuts)):
        running = running.update(block)
    result = running.finish()
    assert result.count == draws
    np.testing.assert_allclose(result.probs, probs.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(result.entropy, entropy(probs.mean(axis=0)), rtol=1e-12)
    np.testing.assert_allclose(result.mutual_information, mutual_information(probs), atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(SEEDS, CUTS, st.integers(2, 30), st.sampled_from([(), (3,), (2, 0, 2), (2, 3)]))
def test_moments_do_not_depend_on_the_blocks(seed: int, cuts: list[int], draws: int, shape: tuple[int, ...]):
    # A mean far from zero: a running sum of squares would lose the variance.
    x = 1e6 + np.random.default_rng(seed).normal(size=(draws, *shape))
    running = RunningMoments.init(shape)
    for block in np.split(x, sorted(cuts)):
        running = running.update(block)
    result = running.finish()
    assert result.count == draws
    assert result.mean.shape == result.variance.shape == shape
    np.testing.assert_allclose(result.mean, x.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(result.variance, x.var(axis=0, ddof=1), rtol=1e-7)


@settings(deadline=None, max_examples=30)
@given(SEEDS, CUTS, st.integers(1, 30), st.booleans(), st.sampled_from([(), (2, 3)]))
def test_mixture_does_not_depend_on_the_blocks(
    seed: int, cuts: list[int], draws: int, predicted: bool, positions: tuple[int, ...]
):
    rng = np.random.default_rng(seed)
    shape = (4, *positions, 2)
    means = rng.normal(size=(draws, *shape))
    noise = rng.uniform(0.1, 2, size=means.shape) if predicted else np.full(means.shape, 0.3)
    running = RunningMixture.init(shape, None if predicted else 0.3)
    values = np.concatenate([means, noise], axis=-1) if predicted else means
    for block in np.split(values, sorted(cuts)):
        running = running.update(block)
    result = running.finish()
    assert result.count == draws
    np.testing.assert_allclose(result.mean, means.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(result.epistemic, means.std(axis=0), atol=1e-7)
    np.testing.assert_allclose(result.aleatoric, np.sqrt((noise**2).mean(axis=0)), rtol=1e-12)
    second = (means**2 + noise**2).mean(axis=0) - means.mean(axis=0) ** 2
    np.testing.assert_allclose(result.std, np.sqrt(second), rtol=1e-9)


def test_moments_of_more_weights_than_are_treated_at_once():
    x = np.random.default_rng(0).normal(size=(7, 3, CACHED // 2 + 1)).astype(np.float32)
    result = RunningMoments.init(x.shape[1:]).update(x[:2]).update(x[2:]).finish()
    np.testing.assert_allclose(result.mean, x.mean(axis=0, dtype=np.float64), atol=1e-14)
    np.testing.assert_allclose(result.variance, x.astype(np.float64).var(axis=0, ddof=1), rtol=1e-12)


def test_every_leading_axis_counts_as_draws():
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 4, 5))
    result = RunningPredictive.init((5, 3)).update(probs).finish()
    np.testing.assert_allclose(
        result.mutual_information, mutual_information(probs.reshape(8, 5, 3)), atol=1e-14
    )
    moments = RunningMoments.init((5, 3)).update(probs).finish()
    np.testing.assert_allclose(moments.variance, probs.reshape(8, 5, 3).var(axis=0, ddof=1))


def test_update_leaves_the_old_state_alone():
    start = RunningMoments.init((2,)).update(np.ones((3, 2)))
    start.update(np.zeros((3, 2)))
    np.testing.assert_array_equal(start.mean, [1, 1])
    assert start.count == 3


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="No draws"):
        RunningPredictive.init((5, 3)).finish()
    with pytest.raises(ValueError, match="No draws"):
        RunningMixture.init((5, 1), 0.3).finish()
    with pytest.raises(ValueError, match="block must have shape"):
        RunningMixture.init((5, 1), 0.3).update(np.zeros((2, 4, 1)))
    with pytest.raises(ValueError, match="at least 2"):
        RunningMoments.init((2,)).update(np.zeros((1, 2))).finish()
    with pytest.raises(ValueError, match="block must have shape"):
        RunningPredictive.init((5, 3)).update(np.full((2, 4, 3), 1 / 3))
    with pytest.raises(ValueError, match="block must have shape"):
        RunningMoments.init((5, 3)).update(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="sum to one"):
        RunningPredictive.init((5, 3)).update(np.zeros((2, 5, 3)))
    with pytest.raises(ValueError, match="not finite"):
        RunningMoments.init((2,)).update(np.full((1, 2), np.nan))
