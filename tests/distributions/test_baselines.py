"""Stored draws and the mean network."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbayes.distributions import Gaussian, mean_network, stored_draws
from symbayes.draws import Draws


def numbered(chains: int, draws: int) -> Draws:
    """Draws of five numbers, two of them constants, all equal to the place of the draw."""
    place = np.arange(chains * draws, dtype=np.float32).reshape(chains, draws)
    wide = np.repeat(place[..., None], 3, axis=-1)
    return Draws.from_variables({"params": {"w": wide}, "stats": {"m": wide[..., :2]}}, {"energy": place})


@given(st.integers(1, 4), st.integers(1, 12), st.integers(5, 300))
def test_stored_draws_fit_and_are_evenly_spaced(chains, draws, floats):
    kept = stored_draws(numbered(chains, draws), floats)
    total = chains * draws
    count = min(floats // 5, total)
    assert (kept.chains, len(kept)) == (1, count)
    picks = kept.variables["params"]["w"][0, :, 0]
    np.testing.assert_array_equal(kept.stats["energy"][0], picks)
    np.testing.assert_array_equal(kept.variables["stats"]["m"][0, :, 1], picks)
    # Each is the middle of its stretch, to within the rounding to a whole draw.
    assert np.max(np.abs(picks + 0.5 - (np.arange(count) + 0.5) * total / count)) <= 0.5
    if count == total:
        np.testing.assert_array_equal(picks, np.arange(total))


def test_equal_floats_are_two_draws_for_a_diagonal():
    draws = numbered(2, 6)
    assert len(stored_draws(draws, Gaussian.fit(draws).floats + 2)) == 2
    with pytest.raises(ValueError, match="4 floats do not hold one draw of 5 numbers"):
        stored_draws(draws, 4)


def test_the_mean_network_is_the_mean_of_all_chains():
    mean = mean_network(numbered(2, 6))
    np.testing.assert_array_equal(mean["params"]["w"], [5.5] * 3)
    np.testing.assert_array_equal(mean["stats"]["m"], [5.5] * 2)
    np.testing.assert_array_equal(mean_network(numbered(1, 1))["params"]["w"], [0.0] * 3)
