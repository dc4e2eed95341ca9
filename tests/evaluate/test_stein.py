"""The Stein kernel against derivatives taken by JAX, and the exactness of the test of units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import function_ksd, function_stein_kernel, ksd, stein_kernel, unit_test


@jax.jit
def derived(x: jax.Array, s: jax.Array, h: jax.Array) -> jax.Array:
    """The Stein kernel of all pairs, with every derivative taken by JAX."""

    def k(a, b):
        return (1 + jnp.sum((a - b) ** 2) / h**2) ** -0.5

    def u(a, b, sa, sb):
        mixed = jax.jacfwd(jax.grad(k, 1), 0)(a, b)
        return sa @ sb * k(a, b) + sa @ jax.grad(k, 1)(a, b) + sb @ jax.grad(k)(a, b) + jnp.trace(mixed)

    return jax.vmap(jax.vmap(u, (None, 0, None, 0)), (0, None, 0, None))(x, x, s, s)


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3]), st.floats(0.5, 3))
def test_the_stein_kernel_against_derivatives(seed: int, d: int, h: float):
    x, s = np.random.default_rng(seed).normal(size=(2, 4, d))
    with jax.enable_x64(True):
        expected = np.asarray(derived(x, s, h))
    np.testing.assert_allclose(stein_kernel(x, s, h), expected, rtol=1e-8, atol=1e-9)
    assert ksd(x, s, h) == pytest.approx(expected[~np.eye(4, dtype=bool)].mean())


@jax.jit
def derived_of_functions(x: jax.Array, s: jax.Array, h: jax.Array, mixing: jax.Array) -> jax.Array:
    """The same of functions g(x) = tanh(A x), the kernel being a function of the weights x."""

    def k(a, b):
        return (1 + jnp.sum((jnp.tanh(mixing @ a) - jnp.tanh(mixing @ b)) ** 2) / h**2) ** -0.5

    def u(a, b, sa, sb):
        mixed = jax.jacfwd(jax.grad(k, 1), 0)(a, b)
        return sa @ sb * k(a, b) + sa @ jax.grad(k, 1)(a, b) + sb @ jax.grad(k)(a, b) + jnp.trace(mixed)

    return jax.vmap(jax.vmap(u, (None, 0, None, 0)), (0, None, 0, None))(x, x, s, s)


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.floats(0.5, 3))
def test_the_stein_kernel_of_functions_against_derivatives(seed: int, h: float):
    rng = np.random.default_rng(seed)
    (x, s), mixing = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 3))
    with jax.enable_x64(True):
        expected = np.asarray(derived_of_functions(x, s, h, mixing))
    values = np.tanh(x @ mixing.T)
    jacobians = (1 - values**2)[..., None] * mixing
    found = function_stein_kernel(values, jacobians, s, h)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    assert function_ksd(values, jacobians, s, h) == pytest.approx(expected[~np.eye(4, dtype=bool)].mean())
    # Weights as their own function.
    same = function_stein_kernel(x, np.broadcast_to(np.eye(3), (4, 3, 3)), s, h)
    np.testing.assert_allclose(same, stein_kernel(x, s, h), rtol=1e-8, atol=1e-9)


def test_functions_of_draws_of_the_density_are_at_no_distance_kinks_or_not():
    """Of a ReLU too, whose slope jumps; and weights that change no function do not blur a difference."""
    rng = np.random.default_rng(5)

    def discrepancy(w: np.ndarray) -> float:
        values = np.maximum(w[:, :1] + 0.5, 0)
        jacobians = np.zeros((len(w), 1, w.shape[1]))
        jacobians[:, 0, 0] = values[:, 0] > 0
        return function_ksd(values, jacobians, -w, 1.0)

    values = [discrepancy(rng.normal(size=(20, 3))) for _ in range(300)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(300)
    wide = [discrepancy(rng.normal(size=(20, 3)) * [1.8, 1, 1]) for _ in range(100)]
    assert np.mean(wide) > 10 * np.std(values) / np.sqrt(300) + np.mean(values)


def test_zero_for_draws_of_the_density_and_not_for_others():
    rng = np.random.default_rng(4)
    precision = np.array([[2.0, 0.7], [0.7, 1.0]])
    root = np.linalg.cholesky(np.linalg.inv(precision))
    values = []
    for _ in range(200):
        x = rng.normal(size=(20, 2)) @ root.T
        values.append(ksd(x, -x @ precision))
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(200)
    x = rng.normal(size=(200, 2)) @ root.T
    right, narrow = ksd(x, -x @ precision), ksd(0.5 * x, -0.5 * x @ precision)
    assert narrow > 10 * abs(right)


def test_units_that_differ_alike_in_all_chains_are_found():
    rng = np.random.default_rng(0)
    same = rng.normal(size=(4, 6, 3, 5))
    own = rng.normal(size=(3, 5))  # the same network in every chain, as after a common start
    found = unit_test(same + 2 * own)
    assert found.p_value < 0.01
    assert found.share > 2 * found.expected
    # The same units in an order of their own in each chain are what the corollary says.
    shuffled = np.stack([chain[..., rng.permutation(5)] for chain in same + 2 * own])
    assert unit_test(shuffled).p_value > 0.05
    # A difference of scale alone is found through the squares.
    assert unit_test(rng.normal(size=(6, 40, 3, 5)) * np.array([0.2, 1, 1, 1, 1])).p_value < 0.01


def test_the_p_value_is_exact_however_slowly_chains_move():
    """Draws that hardly move make arg-max counts look like evidence; relabelled chains do not."""
    rng = np.random.default_rng(9)
    rejected = 0
    for n in range(200):
        stuck = np.repeat(rng.normal(size=(3, 1, 2, 4)), 10, axis=1)
        rejected += unit_test(stuck + 0.01 * rng.normal(size=stuck.shape), 39, seed=n).p_value <= 0.05
    assert rejected <= 22  # 10 expected; three standard deviations and a bit


def test_bad_input_is_refused():
    good = np.random.default_rng(0).normal(size=(4, 2))
    for call, words in (
        (lambda: ksd(good, good[:3]), "one shape"),
        (lambda: ksd(np.ones((3, 2)), np.ones((3, 2))), "must differ"),
        (lambda: unit_test(np.ones((1, 3, 4))), "independent chains"),
        (lambda: unit_test(np.full((2, 3, 4), np.nan)), "not finite"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
