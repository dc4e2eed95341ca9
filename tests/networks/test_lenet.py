"""LeNet-5 against plain numpy, its size, and what it refuses."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plain_layers as plain
import pytest

from symbayes import trees
from symbayes.networks import LeNet, lenet


def count(network: Any, *shape: int) -> int:
    x = jax.ShapeDtypeStruct(shape, jnp.float32)
    return trees.size(jax.eval_shape(network.init, jax.random.key(0), x)["params"])


def test_number_of_parameters() -> None:
    # conv1 25*6+6, conv2 25*6*16+16, dense1 400*120+120, dense2 120*84+84, head 84*10+10.
    assert count(lenet(), 1, 28, 28, 1) == 156 + 2416 + 48_120 + 10_164 + 850 == 61_706
    # Three channels: conv1 75*6+6; seven outputs: head 84*7+7.
    assert count(lenet(outputs=7), 1, 32, 32, 3) == 456 + 2416 + 48_120 + 10_164 + 595


@pytest.mark.parametrize(("side", "pool"), [(28, "max"), (32, "average")])
def test_forward_is_that_of_plain_numpy(side: int, pool: Any) -> None:
    network = lenet(outputs=3, activation="tanh", pool=pool)
    x = np.random.default_rng(side).normal(size=(2, side, side, 2)).astype(np.float32)
    variables = plain.random_variables(network, x, seed=1)
    layers = variables["params"]
    reduce = np.max if pool == "max" else np.mean
    z = np.float64(x)
    for name, padding in (("conv1", (32 - side) // 2), ("conv2", 0)):
        z = np.tanh(plain.convolve(layers[name], z, (padding, padding)))
        z = reduce(plain.windows(z, 2, 2), axis=3)
    z = z.reshape(2, 400)
    z = np.tanh(plain.dense(layers["dense2"], np.tanh(plain.dense(layers["dense1"], z))))
    expected = plain.dense(layers["head"], z)
    np.testing.assert_allclose(plain.outputs(network, variables, x), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("shape", [(8, 8, 1), (28, 32, 1), (28, 28), (784,)])
def test_other_sizes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"LeNet takes images of 28 x 28 or 32 x 32 .* 'cnn' takes any size"):
        lenet().init(jax.random.key(0), jnp.zeros((1, *shape)))


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValueError, match="outputs must be positive integers, not 0"):
        LeNet(outputs=0)
    with pytest.raises(ValueError, match="dropout is a rate"):
        lenet(dropout=1.0)
