"""The order of examples is JAX's own permutation."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.engine.orders import _argsort, order


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 1625, 1626, 70_000])
@pytest.mark.parametrize("chains", [None, 3])
def test_an_order_is_the_permutation_of_jax(count, chains):
    keys = jax.random.key(count) if chains is None else jax.random.split(jax.random.key(count), chains)
    ours, theirs = (
        jax.jit(each if chains is None else jax.vmap(each))(keys)
        for each in (lambda key: order(key, count), lambda key: jax.random.permutation(key, count))
    )
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 3), min_size=6, max_size=6))
def test_equal_numbers_stay_in_their_order(numbers):
    array = np.asarray(numbers, np.uint32)
    np.testing.assert_array_equal(jax.jit(_argsort)(array), np.argsort(array, kind="stable"))
