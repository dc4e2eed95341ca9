"""Some of many weights and predictions."""

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.draws.columns import some_columns, some_weights


@pytest.fixture(scope="module")
def draws(tiny: sb.Posterior) -> sb.Draws:
    keys = jax.random.split(jax.random.key(5), (2, 4))
    return sb.Draws.from_variables(jax.jit(jax.vmap(jax.vmap(tiny.init)))(keys))


def test_some_weights_are_all_of_them_in_order_or_a_part(draws: sb.Draws) -> None:
    everything = np.asarray(trees.ravel(draws.variables["params"], batch_dims=2))
    np.testing.assert_array_equal(some_weights(draws, 10**6), everything)
    some = some_weights(draws, 30)
    assert some.shape == (*everything.shape[:2], 30)
    columns = {tuple(column) for column in everything.reshape(-1, everything.shape[-1]).T}
    assert all(tuple(column) in columns for column in some.reshape(-1, 30).T)
    np.testing.assert_array_equal(some_weights(draws, 30), some)


def test_statistics_of_normalisers_are_no_weights() -> None:
    tree = {"params": {"a": np.ones((1, 2, 3))}, "stats": {"b": np.zeros((1, 2, 5))}}
    np.testing.assert_array_equal(some_weights(sb.Draws.from_variables(tree), 100), np.ones((1, 2, 3)))


def test_columns_are_bounded() -> None:
    values = np.arange(2 * 3 * 50).reshape(2, 3, 50)
    assert some_columns(values, 7).shape == (2, 3, 7)
    assert some_columns(values, 50) is values
