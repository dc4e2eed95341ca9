"""The plain convolutional network against plain numpy, its size, and what it refuses."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import plain_layers as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes import trees
from symbayes.networks import CNN, cnn


@given(
    st.lists(st.integers(1, 4), max_size=2),
    st.lists(st.integers(1, 4), max_size=2),
    st.integers(4, 11),
    st.integers(4, 11),
    st.integers(1, 3),
)
@settings(max_examples=8)
def test_number_of_parameters(
    channels: list[int], hidden: list[int], height: int, width: int, depth: int
) -> None:
    x = jax.ShapeDtypeStruct((1, height, width, depth), jnp.float32)
    variables = jax.eval_shape(cnn(channels, hidden, outputs=5).init, jax.random.key(0), x)
    planes = [depth, *channels]
    convolutions = sum((9 * a + 1) * b for a, b in pairwise(planes))
    halvings = 2 ** len(channels)
    widths = [(height // halvings) * (width // halvings) * planes[-1], *hidden, 5]
    denses = sum((a + 1) * b for a, b in pairwise(widths))
    assert trees.size(variables["params"]) == convolutions + denses
    assert variables["stats"] == {}


def test_number_of_parameters_for_mnist() -> None:
    # conv1 9*16+16, conv2 9*16*32+32, hidden1 7*7*32*64+64, head 64*10+10.
    x = jax.ShapeDtypeStruct((1, 28, 28, 1), jnp.float32)
    variables = jax.eval_shape(cnn().init, jax.random.key(0), x)
    assert trees.size(variables) == 160 + 4640 + 100_416 + 650


def test_forward_is_that_of_plain_numpy() -> None:
    """Odd sizes lose their last row or column to the pooling."""
    network = cnn(channels=(3, 4), hidden=(5,), outputs=2, activation="silu")
    x = np.random.default_rng(0).normal(size=(3, 9, 6, 2)).astype(np.float32)
    variables = plain.random_variables(network, x, seed=1)
    layers = variables["params"]
    z = np.float64(x)
    for name in ("conv1", "conv2"):
        z = plain.windows(plain.silu(plain.convolve(layers[name], z, (1, 1))), 2, 2).max(axis=3)
    assert z.shape == (3, 2, 1, 4)
    expected = plain.dense(layers["head"], plain.silu(plain.dense(layers["hidden1"], z.reshape(3, -1))))
    np.testing.assert_allclose(plain.outputs(network, variables, x), expected, rtol=1e-3, atol=1e-4)


def test_images_too_small_for_the_poolings_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 8 x 8 pixels"):
        cnn(channels=(2, 2, 2)).init(jax.random.key(0), jnp.zeros((1, 7, 9, 1)))


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValueError, match=r"channels must be positive integers, not \(3, -1\)"):
        CNN(channels=(3, -1))
    with pytest.raises(ValueError, match=r"hidden must be positive integers, not \(0,\)"):
        cnn(hidden=[0])
