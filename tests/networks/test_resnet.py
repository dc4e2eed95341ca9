"""Residual networks against plain numpy, their sizes, statistics, and what they refuse."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plain_layers as plain
import pytest

from symbayes import trees
from symbayes.networks import NNXNetwork, ResNet, ResNetFRN, resnet18, resnet20_frn


def shapes(network: Any) -> dict[str, Any]:
    x = jax.ShapeDtypeStruct((1, 32, 32, 3), jnp.float32)
    variables = jax.eval_shape(network.init, jax.random.key(0), x)
    assert jax.eval_shape(network.apply, variables, x).shape == (1, network.spec.outputs)
    return variables


def test_parameters_of_resnet20_frn() -> None:
    # Convolutions with bias, and scale and bias of the norm, so 3 more per channel.
    stem = 27 * 16 + 3 * 16
    first = 6 * (9 * 16 * 16 + 3 * 16)
    second = 9 * 16 * 32 + 5 * 9 * 32 * 32 + 16 * 32 + 7 * 3 * 32
    third = 9 * 32 * 64 + 5 * 9 * 64 * 64 + 32 * 64 + 7 * 3 * 64
    assert trees.size(shapes(resnet20_frn())) == stem + first + second + third + 650 == 273_258
    # The thresholds: 7 norms of 16, 7 of 32 and 7 of 64 channels.
    assert trees.size(shapes(resnet20_frn(threshold=True))) == 273_258 + 7 * (16 + 32 + 64) == 274_042


def test_parameters_of_resnet18() -> None:
    # Convolutions without bias; scale and bias of the norm are 2 per channel.
    stem = 27 * 64 + 2 * 64
    first = 4 * 9 * 64 * 64 + 4 * 2 * 64
    later = sum(9 * n * 2 * n + 3 * 9 * (2 * n) ** 2 + n * 2 * n + 5 * 2 * 2 * n for n in (64, 128, 256))
    variables = shapes(resnet18())
    assert trees.size(variables["params"]) == stem + first + later + 5130 == 11_173_962
    # Mean and variance of 5 norms of 64, 128, 256 and 512 channels each.
    assert trees.size(variables["stats"]) == 2 * 5 * (64 + 128 + 256 + 512)


def test_names_read_well() -> None:
    names = trees.names(shapes(resnet20_frn(width=2))["params"])
    assert {
        "stem/kernel",
        "stem_norm/scale",
        "block1/conv1/kernel",
        "block9/norm2/bias",
        "head/kernel",
    } <= set(names)
    assert [name for name in names if name.endswith("shortcut/kernel")] == [
        "block4/shortcut/kernel",
        "block7/shortcut/kernel",
    ]


def plain_frn(params: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """A stage of one block and two that halve the image.  "SAME" with stride 2 pads an even image by one
    pixel after its end."""
    frn = plain.filter_response_norm
    z = plain.silu(frn(params["stem_norm"], plain.convolve(params["stem"], np.float64(x), (1, 1))))
    for name in ("block1", "block2", "block3"):
        block = params[name]
        stride, padding = (2, (0, 1)) if "shortcut" in block else (1, (1, 1))
        inner = plain.silu(frn(block["norm1"], plain.convolve(block["conv1"], z, padding, stride)))
        inner = frn(block["norm2"], plain.convolve(block["conv2"], inner, (1, 1)))
        if "shortcut" in block:
            z = frn(block["shortcut_norm"], plain.convolve(block["shortcut"], z, (0, 0), 2))
        z = plain.silu(z + inner)
    return plain.dense(params["head"], z.mean(axis=(1, 2)))


def test_forward_with_filter_response_norm_is_that_of_plain_numpy() -> None:
    network = NNXNetwork(ResNetFRN(blocks=1, width=2, outputs=3))
    x = np.random.default_rng(0).normal(size=(3, 8, 8, 3)).astype(np.float32)
    variables = plain.random_variables(network, x, seed=1)
    assert sorted(variables["params"]) == ["block1", "block2", "block3", "head", "stem", "stem_norm"]
    expected = plain_frn(variables["params"], x)
    np.testing.assert_allclose(plain.outputs(network, variables, x), expected, rtol=1e-3, atol=1e-4)


class PlainBatchNormed:
    """A residual network with batch norm that notes mean and variance of what every norm gets."""

    def __init__(self, variables: dict[str, Any], training: bool) -> None:
        self.variables, self.training = variables, training
        self.seen: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        self.seen[name] = mean, var = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
        flat = trees.flatten(self.variables)
        if not self.training:
            mean, var = flat[f"stats/{name}/mean"], flat[f"stats/{name}/var"]
        layer = {part: flat[f"params/{name}/{part}"] for part in ("scale", "bias")}
        return plain.batch_norm(layer, mean, var, x)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        params = self.variables["params"]
        z = plain.relu(self.norm("stem_norm", plain.convolve(params["stem"], np.float64(x), (1, 1))))
        for name in ("block1", "block2"):
            block = params[name]
            stride = 2 if "shortcut" in block else 1
            inner = plain.convolve(block["conv1"], z, (1, 1), stride)
            inner = plain.convolve(block["conv2"], plain.relu(self.norm(f"{name}/norm1", inner)), (1, 1))
            inner = self.norm(f"{name}/norm2", inner)
            if stride == 2:
                z = self.norm(f"{name}/shortcut_norm", plain.convolve(block["shortcut"], z, (0, 0), 2))
            z = plain.relu(z + inner)
        return plain.dense(params["head"], z.mean(axis=(1, 2)))


@pytest.fixture(scope="module")
def batch_normed() -> tuple[NNXNetwork, dict[str, Any], np.ndarray]:
    network = NNXNetwork(ResNet(blocks=(1, 1), width=3, outputs=2))
    x = np.random.default_rng(2).normal(size=(4, 7, 6, 2)).astype(np.float32)
    return network, plain.random_variables(network, x, seed=3), x


def test_evaluation_with_batch_norm_is_that_of_plain_numpy(batch_normed: Any) -> None:
    network, variables, x = batch_normed
    expected = PlainBatchNormed(variables, training=False)(x)
    np.testing.assert_allclose(plain.outputs(network, variables, x), expected, rtol=1e-3, atol=1e-4)


def test_training_with_batch_norm_is_that_of_plain_numpy(batch_normed: Any) -> None:
    network, variables, x = batch_normed
    oracle = PlainBatchNormed(variables, training=True)
    expected = oracle(x)
    outputs, stats = jax.jit(network.apply_train)(variables, x, jax.random.key(0))
    np.testing.assert_allclose(outputs, expected, rtol=2e-3, atol=1e-3)
    before, after = trees.flatten(variables["stats"]), trees.flatten(stats)
    assert before.keys() == after.keys() == {f"{n}/{part}" for n in oracle.seen for part in ("mean", "var")}
    for name, (mean, var) in oracle.seen.items():
        np.testing.assert_allclose(
            after[f"{name}/mean"], 0.9 * before[f"{name}/mean"] + 0.1 * mean, atol=1e-4
        )
        np.testing.assert_allclose(after[f"{name}/var"], 0.9 * before[f"{name}/var"] + 0.1 * var, rtol=1e-4)


def test_training_leaves_the_statistics_that_it_was_given(batch_normed: Any) -> None:
    """Also where they are numpy arrays, which could be written to."""
    network, variables, x = batch_normed
    before = jax.tree.map(np.copy, variables)
    _, stats = network.apply_train(variables, jnp.asarray(x), jax.random.key(0))
    jax.tree.map(np.testing.assert_array_equal, variables, before)
    assert not np.array_equal(stats["stem_norm"]["mean"], before["stats"]["stem_norm"]["mean"])


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValueError, match="width must be positive integers, not 0"):
        ResNetFRN(width=0)
    with pytest.raises(ValueError, match=r"blocks must be positive integers, not \(2, 0\)"):
        ResNet(blocks=(2, 0))
    with pytest.raises(ValueError, match="at least 8 x 8 pixels"):
        resnet18().init(jax.random.key(0), jnp.zeros((1, 4, 4, 3)))
