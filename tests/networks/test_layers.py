"""Normalisations against plain numpy, dropout, embeddings, and the checks of options and inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import plain_layers as plain
import pytest
from flax import nnx
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.networks import layers


def parameters(rng: np.random.Generator, channels: int, names: str) -> dict[str, np.ndarray]:
    return {name: rng.normal(size=channels) for name in names.split()}


def set_parameters(module: nnx.Module, values: dict[str, np.ndarray]) -> None:
    for name, value in values.items():
        getattr(module, name)[...] = jnp.float32(value)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.floats(1e-4, 1e4))
@settings(max_examples=15)
def test_filter_response_norm(seed: int, threshold: bool, size: float) -> None:
    rng = np.random.default_rng(seed)
    x = size * rng.normal(size=(3, 4, 2, 5))
    values = parameters(rng, 5, "scale bias threshold" if threshold else "scale bias")
    module = layers.FilterResponseNorm(5, threshold)
    set_parameters(module, values)
    expected = plain.filter_response_norm(values, x)
    expected = np.maximum(expected, values["threshold"]) if threshold else expected
    np.testing.assert_allclose(module(jnp.float32(x)), expected, rtol=1e-4, atol=1e-4)


def test_filter_response_norm_sees_one_example_at_a_time() -> None:
    x = np.random.default_rng(0).normal(size=(4, 3, 3, 2)).astype(np.float32)
    module = layers.FilterResponseNorm(2)
    together, alone = module(jnp.asarray(x)), module(jnp.asarray(x[:1]))
    np.testing.assert_allclose(together[:1], alone, rtol=1e-6)


@given(st.integers(0, 2**32 - 1), st.floats(0, 300))
@settings(max_examples=10)
def test_batch_norm_in_training_and_in_evaluation(seed: int, shift: float) -> None:
    """Also far from zero, where a variance as the difference of squares would cancel."""
    rng = np.random.default_rng(seed)
    x = np.float32(shift + rng.normal(size=(6, 4, 3, 5)))
    module = layers.batch_norm(5, nnx.Rngs(0))
    values = parameters(rng, 5, "scale bias")
    before = {"mean": rng.normal(size=5), "var": rng.uniform(0.5, 2, size=5)}
    set_parameters(module, {**values, **before})
    mean, var = np.float64(x).mean(axis=(0, 1, 2)), np.float64(x).var(axis=(0, 1, 2))
    trained = module(jnp.asarray(x), use_running_average=False)
    np.testing.assert_allclose(trained, plain.batch_norm(values, mean, var, x), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(module.mean[...], 0.9 * before["mean"] + 0.1 * mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(module.var[...], 0.9 * before["var"] + 0.1 * var, rtol=1e-4, atol=1e-4)
    set_parameters(module, before)
    evaluated = module(jnp.asarray(x), use_running_average=True)
    expected = plain.batch_norm(values, before["mean"], before["var"], x)
    np.testing.assert_allclose(evaluated, expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(module.mean[...], before["mean"], rtol=1e-6)


def test_dropout_without_a_rate_holds_no_randomness() -> None:
    assert not jax.tree.leaves(nnx.state(layers.dropout(0.0, nnx.Rngs(0))))
    assert jax.tree.leaves(nnx.state(layers.dropout(0.1, nnx.Rngs(0))))


def test_a_token_outside_of_the_vocabulary_is_not_read_as_another() -> None:
    table = jnp.arange(6.0).reshape(3, 2)
    rows = np.asarray(layers.look_up(table, jnp.array([[2, 0], [1, 3]])))
    np.testing.assert_array_equal(rows[0], [[4, 5], [0, 1]])
    np.testing.assert_array_equal(rows[1, 0], [2, 3])
    assert np.isnan(rows[1, 1]).all()


def test_tokens_must_be_whole_numbers() -> None:
    layers.require_tokens(jnp.zeros((1, 2), jnp.uint8))
    with pytest.raises(TypeError, match=r"integer tokens of shape \(examples, length\), not float32"):
        layers.require_tokens(jnp.zeros((1, 2)))


@pytest.mark.parametrize("shape", [(8, 8), (7, 8, 1), (8, 7, 1), (8, 8, 1, 1), (64,)])
def test_images_have_three_axes_and_enough_pixels(shape: tuple[int, ...]) -> None:
    assert layers.require_image((8, 9, 3), 8) == (8, 9, 3)
    with pytest.raises(ValueError, match="at least 8 x 8 pixels, not examples of shape"):
        layers.require_image(shape, 8)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_rates_of_dropout_are_below_one(rate: float) -> None:
    layers.require_rate(0.0)
    with pytest.raises(ValueError, match="dropout is a rate from 0 up to, not including, 1"):
        layers.require_rate(rate)


def test_widths_are_positive() -> None:
    layers.require_widths(a=1, b=(2, 3), c=())
    with pytest.raises(ValueError, match=r"channels must be positive integers, not \(3, 0\)"):
        layers.require_widths(outputs=1, channels=(3, 0))
    with pytest.raises(ValueError, match="outputs must be positive integers, not 0"):
        layers.require_widths(outputs=0)


def test_widths_of_layers_come_as_a_sequence() -> None:
    assert layers.widths(hidden=[3, 4]) == (3, 4)
    for bad in (32, "32", None):
        with pytest.raises(ValueError, match=r"hidden has a width for each layer, as in hidden=\[32\], not"):
            layers.widths(hidden=bad)
