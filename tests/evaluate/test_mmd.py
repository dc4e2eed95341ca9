"""Distances, discrepancies and their tests against direct transcriptions, scipy and closed forms."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import wasserstein_distance
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from symbayes.evaluate import Kernels, chain_test, distances, mmd, sliced_wasserstein

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=10)
@given(SEEDS, st.sampled_from([(1, 2, 1), (33, 5, 3), (40, 34, 520)]))
def test_distances_against_scipy(seed: int, sizes: tuple[int, int, int]):
    rng = np.random.default_rng(seed)
    # Far from the origin and close to one another, as draws of a chain are.
    x, y = (50 + 0.01 * rng.normal(size=(n, sizes[2])).astype(np.float32) for n in sizes[:2])
    for found, (a, b) in ((distances(x, y), (x, y)), (distances(y), (y, y))):
        np.testing.assert_allclose(found.squared, cdist(a, b, "sqeuclidean"), rtol=2e-5, atol=1e-12)
        np.testing.assert_allclose(found.absolute, cdist(a, b, "cityblock"), rtol=2e-5, atol=1e-9)


def test_distances_of_layers_add_up():
    x = np.random.default_rng(0).normal(size=(7, 9))
    both = distances(x[:, :4]) + distances(x[:, 4:])
    np.testing.assert_allclose(both.squared, distances(x).squared, rtol=1e-5)
    np.testing.assert_allclose(both.absolute, distances(x).absolute, rtol=1e-5)


def direct(x: np.ndarray, y: np.ndarray, kernels: Kernels) -> float:
    """The mean over kernels of the unbiased estimate, each from its own double sum."""
    found = []
    for h in kernels.gaussian:
        found.append(lambda a, b, h=h: rbf_kernel(a, b, gamma=1 / h**2))
    for h in kernels.laplace:
        found.append(lambda a, b, h=h: laplacian_kernel(a, b, gamma=1 / h))
    values = []
    for kernel in found:
        n, m = len(x), len(y)
        xx = sum(kernel(x, x)[i, j] for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
        yy = sum(kernel(y, y)[i, j] for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
        values.append(xx + yy - 2 * kernel(x, y).mean())
    return float(np.mean(values))


@settings(max_examples=8)
@given(SEEDS, st.integers(2, 6), st.integers(3, 5), st.floats(0, 2))
def test_mmd_against_scikit_learn(seed: int, n: int, m: int, shift: float):
    rng = np.random.default_rng(seed)
    x, y = shift + rng.normal(size=(n, 4)), rng.normal(size=(m, 4))
    kernels = Kernels.of(distances(y))
    pairs = np.array([(math.dist(a, b), np.abs(a - b).sum()) for a, b in itertools.combinations(y, 2)])
    for found, values in zip((kernels.gaussian, kernels.laplace), pairs.T, strict=True):
        assert len(found) == 10
        np.testing.assert_allclose(found[[0, -1]], [np.quantile(values, 0.05), values.max()], rtol=1e-4)
        np.testing.assert_allclose(np.diff(np.log(found)), np.diff(np.log(found))[0], rtol=1e-6)
    assert mmd(x, y) == pytest.approx(direct(x, y, kernels), abs=1e-6)
    assert mmd(x, y, kernels) == pytest.approx(mmd(y, x, kernels), abs=1e-7)


def test_repeated_draws_leave_bandwidths_positive():
    y = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 20, axis=0)
    assert Kernels.of(distances(y)).gaussian.min() > 0


def test_mmd_is_unbiased():
    """Of two sets with one law its mean is zero; a biased estimate's would be about 1/n above."""
    rng = np.random.default_rng(3)
    kernels = Kernels.of(distances(rng.normal(size=(40, 2))))
    values = [mmd(*rng.normal(size=(2, 6, 2)), kernels) for _ in range(150)]
    assert abs(np.mean(values)) < 4 * np.std(values) / math.sqrt(150)
    assert min(values) < 0


@pytest.mark.parametrize("chains", [(2, 3), (3, 3)])
def test_every_way_to_deal_chains(chains: tuple[int, int]):
    rng = np.random.default_rng(8)
    draws, total = 2, sum(chains)
    z = rng.normal(size=(total * draws, 2)) + 0.7 * np.repeat(np.arange(total) < chains[0], draws)[:, None]
    kernels = Kernels.of(distances(z))
    found = chain_test(kernels(distances(z)), chains)
    by_chain = z.reshape(total, draws, 2)
    values = []
    for first in itertools.combinations(range(total), chains[0]):
        rest = [c for c in range(total) if c not in first]
        values.append(mmd(by_chain[list(first)].reshape(-1, 2), by_chain[rest].reshape(-1, 2), kernels))
    assert found.ways == len(values)
    assert found.statistic == pytest.approx(values[0], abs=1e-6)
    assert found.p_value == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-6))
    assert found.smallest == pytest.approx((2 if chains[0] == chains[1] else 1) / len(values))


def test_chains_that_hardly_move_are_not_taken_for_independent_draws():
    """Under one law of chains 5 % of the tests reject at most, however alike the draws of a chain are."""
    rng = np.random.default_rng(11)
    rejected = 0
    for n in range(120):
        centres = np.repeat(rng.normal(size=(8, 1)), 5, axis=0)
        z = distances(centres + 0.05 * rng.normal(size=(40, 1)))
        rejected += chain_test(Kernels.of(z)(z), (4, 4), 39, seed=n).p_value <= 0.05
    assert rejected <= 14
    apart = distances(np.repeat(np.arange(8.0)[:, None], 5, axis=0) + 0.05 * rng.normal(size=(40, 1)))
    assert chain_test(Kernels.of(apart)(apart), (4, 4), 200).p_value < 0.05


def test_chains_of_different_length_are_thinned_to_the_shortest():
    rng = np.random.default_rng(8)
    lengths = [9, 9, 4, 4, 4]
    x = [rng.normal(size=(n, 2)) for n in lengths]
    kernels = Kernels.of(distances(np.concatenate(x)))
    found = chain_test(kernels(distances(np.concatenate(x))), (2, 3), lengths=lengths)
    thin = [np.stack([chain[len(chain) * (i + 1) // 4 - 1] for i in range(4)]) for chain in x]
    expected = chain_test(kernels(distances(np.concatenate(thin))), (2, 3))
    assert found.p_value == expected.p_value
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.ways == 10
    with pytest.raises(ValueError, match=r"lengths are those of 5 chains with 30 draws in all, not \[9, 9\]"):
        chain_test(kernels(distances(np.concatenate(x))), (2, 3), lengths=[9, 9])


@settings(max_examples=10)
@given(SEEDS, st.integers(1, 6), st.integers(1, 4))
def test_sliced_wasserstein_against_scipy(seed: int, n: int, d: int):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n, d)).astype(np.float32)
    lines = np.random.default_rng(5).standard_normal((d, 3), dtype=np.float32)
    lines /= np.linalg.norm(lines, axis=0)
    expected = np.mean([wasserstein_distance(x @ line, y @ line) for line in lines.T])
    assert sliced_wasserstein(x, y, 1.0, 3, seed=5) == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert sliced_wasserstein(x, x[::-1]) == pytest.approx(0, abs=1e-6)


def test_sliced_wasserstein_of_a_shift():
    """A shift v has the squared distance |v|^2 / d, in the mean over directions."""
    x = np.random.default_rng(2).normal(size=(9, 5))
    shift = np.array([3.0, 0, 0, 4, 0])
    assert sliced_wasserstein(x, x + shift, directions=20_000) == pytest.approx(math.sqrt(25 / 5), rel=0.02)


def test_bad_input_is_refused():
    good = np.random.default_rng(0).normal(size=(4, 2))
    for call, words in (
        (lambda: mmd(good, np.ones((3, 2))), "different draws"),
        (lambda: mmd(good[:1], good), "at least two draws"),
        (lambda: distances(good, good[:, :1]), "coordinates"),
        (lambda: distances(good * np.nan), "not finite"),
        (lambda: distances(good[0]), "shape"),
        (lambda: chain_test(np.ones((5, 5)), (1, 1)), "one length"),
        (lambda: chain_test(np.ones((2, 2)), (1, 1)), "at least two draws"),
        (lambda: sliced_wasserstein(good, good[:3]), "equal sizes"),
        (lambda: sliced_wasserstein(good, good, order=0.5), "at least 1"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
