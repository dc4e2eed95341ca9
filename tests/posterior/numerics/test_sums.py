"""Compensated sums against exact ones (math.fsum), with the error bound of Ogita, Rump & Oishi."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.posterior.numerics.sums import compensated, two_sum

pytestmark = pytest.mark.level

UNIT = 2.0**-24
"""Half the distance from 1 to the next float32."""

LENGTH = 64
"""Inputs are padded with zeros to one length, so that everything compiles once."""


def _moderate(largest: float) -> st.SearchStrategy[float]:
    """Far from overflow and underflow, where an addition's error is itself a float32."""
    numbers = st.floats(-largest, largest, width=32, allow_nan=False)
    return numbers.map(lambda value: 0.0 if abs(value) < 2.0**-60 else value)


moderate = _moderate(2.0**60)

summed = jax.jit(compensated)
rows_summed = jax.jit(jax.vmap(compensated))


def padded(values: list[float]) -> np.ndarray:
    return np.array(values + [0.0] * (LENGTH - len(values)), np.float32)


def bound(values: np.ndarray) -> float:
    """The sum's own rounding, and twice-rounded terms: ``u |s| + gamma_2n^2 sum |x|``."""
    gamma = 2 * values.size * UNIT / (1 - 2 * values.size * UNIT)
    exact = values.astype(np.float64)
    return UNIT * abs(math.fsum(exact)) + gamma**2 * math.fsum(abs(exact))


@given(st.lists(moderate, min_size=1, max_size=LENGTH))
def test_sum_is_as_accurate_as_in_twice_the_precision(values: list[float]) -> None:
    array = padded(values)
    assert abs(float(summed(array)) - math.fsum(array.astype(np.float64))) <= bound(array)


@given(st.lists(moderate, min_size=1, max_size=LENGTH // 2 - 1), _moderate(1), st.randoms())
def test_what_remains_when_all_else_cancels_survives(values: list[float], rest: float, random) -> None:
    """x and -x for every x, in any order, and one small number that must come through."""
    terms = [*values, *(-value for value in values), rest]
    random.shuffle(terms)
    array = padded(terms)
    assert abs(float(summed(array)) - rest) <= bound(array)


def test_plain_float32_sum_fails_where_compensated_holds() -> None:
    terms = np.array([2.0**24, 1.0, 1.0, 1.0, -(2.0**24)] * 100, np.float32)
    naive = np.float32(0)
    for term in terms:
        naive += term
    assert naive != 300
    assert float(compensated(jnp.asarray(terms))) == 300


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_long_sums_are_as_accurate(seed: int) -> None:
    """Nearly everything cancels, over eight orders of magnitude."""
    rng = np.random.default_rng(seed)
    half = (rng.normal(size=2500) * 10.0 ** rng.uniform(-4, 4, size=2500)).astype(np.float32)
    array = rng.permutation(np.concatenate([half, -half, rng.normal(size=7).astype(np.float32)]))
    assert abs(float(summed(array)) - math.fsum(array.astype(np.float64))) <= bound(array)


@given(st.lists(st.tuples(moderate, moderate, moderate), min_size=4, max_size=4))
def test_rows_under_vmap_and_jit_equal_their_sums_alone(rows: list[tuple[float, ...]]) -> None:
    block = np.stack([padded(list(row)) for row in rows])
    together = rows_summed(block)
    for row, value in zip(block, together, strict=True):
        assert float(value) == float(summed(row))


def test_vmap_over_one_of_several_arrays() -> None:
    fixed, varying = jnp.array([1e8, 1.0]), jnp.array([[-1e8], [3.0]])
    sums = jax.vmap(lambda row: compensated(fixed, row))(varying)
    np.testing.assert_array_equal(sums, np.array([1.0, 1e8 + 4], np.float32))


def test_arrays_of_several_shapes_are_one_sum(rng: np.random.Generator) -> None:
    parts = [rng.normal(size=shape).astype(np.float32) for shape in ((), (3,), (2, 5), (4, 1, 2))]
    exact = math.fsum(float(x) for part in parts for x in part.ravel())
    assert float(compensated(*map(jnp.asarray, parts))) == pytest.approx(exact, rel=UNIT * 2)


@given(moderate, moderate)
def test_two_sum_loses_nothing(a: float, b: float) -> None:
    total, error = two_sum(jnp.float32(a), jnp.float32(b))
    assert math.fsum([float(total), float(error)]) == math.fsum([a, b])
    assert abs(float(error)) <= UNIT * abs(float(total))


def test_gradient_is_that_of_a_sum() -> None:
    def loss(x: jax.Array) -> jax.Array:
        return compensated(x**2, jnp.sin(x[:2]))

    x = jnp.array([0.5, -1.0, 3.0])
    expected = 2 * np.asarray(x) + np.append(np.cos(x[:2]), 0)
    np.testing.assert_allclose(jax.grad(loss)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(jax.grad(loss))(x[None])[0], expected, rtol=1e-6)
    np.testing.assert_allclose(jax.hessian(loss)(x), np.diag(2 - np.append(np.sin(x[:2]), 0)), rtol=1e-6)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)
