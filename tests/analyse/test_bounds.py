"""How much is looked at."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes.analyse.bounds import Bounds, evenly
from symbayes.engine import Opened


@given(count=st.integers(1, 200), most=st.integers(1, 50))
def test_evenly_spaced_numbers_are_distinct_and_end_with_the_last(count: int, most: int) -> None:
    chosen = evenly(count, most)
    assert len(chosen) == min(count, most)
    assert chosen[-1] == count - 1
    assert chosen[0] >= 0
    gaps = np.diff(chosen)
    assert gaps.size == 0 or (gaps.min() >= 1 and gaps.max() - gaps.min() <= 1)


def test_draws_are_bounded_in_number_and_in_size(hmc_draws: sb.Draws) -> None:
    size = sum(int(np.prod(shape)) for shape in hmc_draws.shapes.values())
    few = Bounds(draws=6).some_draws(hmc_draws)
    assert (few.chains, len(few)) == (2, 3)
    np.testing.assert_array_equal(
        few.variables["params"]["output"]["bias"][:, -1],
        hmc_draws.variables["params"]["output"]["bias"][:, -1],
    )
    small = Bounds(numbers=4 * size).some_draws(hmc_draws)
    assert (small.chains, len(small)) == (2, 2)
    assert len(Bounds().some_draws(hmc_draws)) == len(hmc_draws)


def test_examples_are_a_part_without_repetition(hmc: Opened, digits: sb.data.Dataset) -> None:
    numbered = sb.data.Examples(digits.train.x, np.arange(len(digits.train)))
    some = Bounds(examples=100).some_examples(numbered, hmc.network)
    assert len(set(some.y.tolist())) == 100
    np.testing.assert_array_equal(some.x, np.asarray(digits.train.x)[some.y])
    assert some.y.max() > 200  # not the first hundred
    whole = Bounds().some_examples(numbered, hmc.network)
    assert len(whole) == len(digits.train)


def test_nothing_is_no_bound() -> None:
    with pytest.raises(ValueError, match="samples must be a positive number, not 0"):
        Bounds(samples=0)
