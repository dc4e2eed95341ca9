"""The network like AlexNet against plain numpy, its size, and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import plain_layers as plain
import pytest

from symbayes import trees
from symbayes.networks import AlexNet, alexnet


def test_number_of_parameters() -> None:
    x = jax.ShapeDtypeStruct((2, 32, 32, 3), jnp.float32)
    variables = jax.eval_shape(alexnet().init, jax.random.key(0), x)
    sizes = {
        "conv1": 25 * 3 * 64 + 64,
        "conv2": 25 * 64 * 192 + 192,
        "conv3": 9 * 192 * 384 + 384,
        "conv4": 9 * 384 * 256 + 256,
        "conv5": 9 * 256 * 256 + 256,
        "dense1": 4 * 4 * 256 * 512 + 512,
        "dense2": 512 * 512 + 512,
        "head": 512 * 10 + 10,
    }
    assert {name: trees.size(layer) for name, layer in variables["params"].items()} == sizes
    assert trees.size(variables) == 4_816_714
    assert jax.eval_shape(alexnet().apply, variables, x).shape == (2, 10)


def pool(x: np.ndarray) -> np.ndarray:
    """3x3 windows with stride 2; an even image is padded after its end, an odd one on both sides."""
    padding = [(size % 2, 1) for size in x.shape[1:3]]
    return plain.windows(np.pad(x, ((0, 0), *padding, (0, 0)), constant_values=-np.inf), 3, 2).max(axis=3)


def test_forward_is_that_of_plain_numpy() -> None:
    network = alexnet(outputs=3, channels=(2, 3, 4, 3, 2), dense=(6, 5))
    x = np.random.default_rng(0).normal(size=(3, 10, 9, 2)).astype(np.float32)
    variables = plain.random_variables(network, x, seed=1)
    layers = variables["params"]
    z = pool(plain.relu(plain.convolve(layers["conv1"], np.float64(x), (2, 2))))
    z = pool(plain.relu(plain.convolve(layers["conv2"], z, (2, 2))))
    for name in ("conv3", "conv4", "conv5"):
        z = plain.relu(plain.convolve(layers[name], z, (1, 1)))
    z = pool(z).reshape(3, -1)
    for name in ("dense1", "dense2"):
        z = plain.relu(plain.dense(layers[name], z))
    expected = plain.dense(layers["head"], z)
    np.testing.assert_allclose(plain.outputs(network, variables, x), expected, rtol=1e-3, atol=1e-4)


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValueError, match="five convolutions and two hidden dense layers"):
        AlexNet(channels=(3, 3))
    with pytest.raises(ValueError, match="five convolutions and two hidden dense layers"):
        alexnet(dense=(4,))
    with pytest.raises(ValueError, match="at least 8 x 8 pixels"):
        alexnet().init(jax.random.key(0), jnp.zeros((1, 4, 4, 3)))
