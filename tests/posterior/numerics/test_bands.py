"""Convolutions as matrix products and pooling by reshaping: JAX's own in value and derivative."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import symbayes as sb
from symbayes.posterior.numerics import bands, quick_convolutions


@given(
    st.tuples(st.integers(4, 9), st.integers(4, 9)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(*[st.tuples(st.integers(0, 2), st.integers(0, 2))] * 2),
    st.sampled_from([1, 8, 40, 10_000]),
    st.integers(0, 1000),
)
@settings(max_examples=12)
def test_a_band_is_the_convolution(size, window, strides, padding, columns, seed) -> None:
    """For every number of output columns in a product."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, *size, 3)).astype(np.float32)
    kernel = rng.normal(size=(*window, 3, 5)).astype(np.float32)

    @jax.jit
    def both(x: jax.Array, kernel: jax.Array) -> tuple[jax.Array, jax.Array]:
        numbers = ("NHWC", "HWIO", "NHWC")
        expected = lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=numbers)
        return bands.banded(x, kernel, strides, padding), expected

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "COLUMNS", columns)
        made, expected = both(x, kernel)
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5)


POOLED = {
    "maximum": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 3, 1), (1, 2, 3, 1), "VALID"),
    "sum": lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 3, 2, 1), "VALID"),
    "overlapping": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID"),
    "padded": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"),
}


@pytest.mark.parametrize("name", POOLED)
def test_pooling_is_that_of_jax(name: str) -> None:
    """Rows and columns beyond the last window are left out."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(2, 7, 8, 3)), jnp.float32)

    def both(pool: Any) -> Any:
        return pool(x), jax.grad(lambda x: jnp.sum(jnp.sin(pool(x))))(x)

    made, expected = both(quick_convolutions(POOLED[name])), both(POOLED[name])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), made, expected)
    windows = "reduce_window" in str(jax.make_jaxpr(quick_convolutions(POOLED[name]))(x))
    assert windows == (name in ("overlapping", "padded"))


def test_many_networks_of_few_channels_take_batched_products_only() -> None:
    network, x = sb.networks.lenet(), jnp.ones((2, 28, 28, 1))
    chains = jax.eval_shape(
        jax.vmap(lambda key: network.init(key, x)), jax.random.split(jax.random.key(0), 3)
    )

    def program(apply: Any) -> str:
        gradient = jax.grad(lambda v: jnp.sum(apply(v, x) ** 2))
        return str(jax.make_jaxpr(jax.vmap(gradient))(chains))

    assert "feature_group_count=3" in program(network.apply)
    assert "conv_general" not in program(quick_convolutions(network.apply))
