"""Pairwise mutual information against a plain loop, and what follows from it against scipy."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr
from scipy.stats import pearsonr

from symbayes.evaluate import (
    dispersion,
    mean_pairwise_mutual_information,
    pair_correlation,
    pairs_of,
    pairwise,
    pairwise_mutual_information,
    pairwise_tiles,
)


def networks(seed: int, m: int, n: int, k: int) -> np.ndarray:
    """Probabilities with some exact zeros and ones, and two equal networks."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.4), size=(m, n))
    p = np.where(rng.random((m, n, 1)) < 0.2, np.eye(k)[rng.integers(0, k, (m, n))], p)
    p[-1] = p[0]
    return p.astype(np.float32)


def plain(p: np.ndarray) -> np.ndarray:
    """The definition, pair by pair, in float64."""
    p = p.astype(np.float64)
    found = np.zeros((len(p), len(p)))
    for i in range(len(p)):
        for j in range(len(p)):
            of_mean = entr((p[i] + p[j]) / 2).sum(-1)
            found[i, j] = np.mean(of_mean - (entr(p[i]).sum(-1) + entr(p[j]).sum(-1)) / 2)
    return found


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(2, 1, 2), (5, 7, 3), (19, 11, 4)]), st.booleans())
def test_every_pair_against_a_plain_loop(seed: int, sizes: tuple[int, int, int], by_product: bool):
    p = networks(seed, *sizes)
    # Small tiles and chunks, so that there are several of each.
    with (
        patch.object(pairwise, "SMALL", 0),
        patch.object(pairwise_tiles, "TILE", {"cpu": 16 * 16 * sizes[2] * 2}),
        patch.object(pairwise_tiles, "CHUNK", 4 * 32 * sizes[2] * 4),
        patch.object(pairwise_tiles.jax, "default_backend", lambda: "cpu" if by_product else "gpu"),
        patch.object(pairwise_tiles, "OTHER_TILE", 2**12),
    ):
        found = pairwise_mutual_information(p)
    np.testing.assert_allclose(found, plain(p), atol=2e-7)
    np.testing.assert_allclose(pairwise_mutual_information(p), plain(p), atol=1e-12)
    np.testing.assert_array_equal(np.diag(found), 0)
    assert abs(found[0, -1]) < 1e-8  # equal networks
    assert found.max() <= math.log(2) + 1e-6


def test_positions_count_as_points():
    p = networks(3, 4, 6, 3)
    found = pairwise_mutual_information(p.reshape(4, 2, 3, 3))
    np.testing.assert_allclose(found, pairwise_mutual_information(p), atol=1e-7)
    assert mean_pairwise_mutual_information(p) == pytest.approx(np.mean(pairs_of(plain(p))), abs=1e-7)


def test_close_networks_keep_their_small_differences():
    """The difference of two float32 entropies has an error of about 1e-7."""
    rng = np.random.default_rng(5)
    base = rng.dirichlet(np.ones(10), size=400)
    p = np.stack([base, base + 1e-5 * (np.roll(base, 1, -1) - base)]).astype(np.float32)
    assert plain(p)[0, 1] < 1e-9
    with patch.object(pairwise, "SMALL", 0):
        found = pairwise_mutual_information(p)
    assert found[0, 1] == pytest.approx(plain(p)[0, 1], abs=1e-8)


def test_bad_input_is_refused():
    good = networks(0, 3, 4, 3)
    for bad, words in (
        (np.log(good + 0.1), "not logits"),
        (2 * good, "sum to one"),
        (np.where(good == good.max(), np.nan, good), "not finite"),
        (good[0], "networks, n"),
        (good[:, :0], "none of them zero"),
    ):
        with pytest.raises(ValueError, match=words):
            pairwise_mutual_information(bad)
        with patch.object(pairwise, "SMALL", 0), pytest.raises(ValueError, match=words):
            pairwise_mutual_information(bad)
    with pytest.raises(ValueError, match="at least 2"):
        pairs_of(np.zeros((1, 1)))
    with pytest.raises(ValueError, match="same networks"):
        pair_correlation(np.zeros((3, 3)), np.zeros((4, 4)))


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(4, 9))
def test_dispersion_and_correlation_over_pairs(seed: int, m: int):
    rng = np.random.default_rng(seed)
    a, b = (x @ x.T + 5 for x in rng.normal(size=(2, m, 3)))
    upper = np.triu_indices(m, 1)
    spread = dispersion(a)
    assert spread.mean == pytest.approx(a[upper].mean())
    assert spread.ratio == pytest.approx(a[upper].std() / a[upper].mean())
    found = pair_correlation(a, b, seed)
    assert found.value == pytest.approx(pearsonr(a[upper], b[upper])[0], abs=1e-9)
    assert -1 <= found.low <= found.high <= 1


def test_the_interval_draws_networks_and_not_pairs():
    """One network far from all others makes most of a correlation; without it there is little."""
    rng = np.random.default_rng(1)
    a, b = (x @ x.T for x in rng.normal(size=(2, 30, 4)))
    a[0], a[:, 0], b[0], b[:, 0] = 60, 60, 60, 60
    found = pair_correlation(a, b)
    assert found.value > 0.9
    assert found.low < 0.3
    assert np.isnan(pair_correlation(np.ones((4, 4)), a[:4, :4]).value)
