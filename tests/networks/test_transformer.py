"""The transformer encoder against plain einsum, its size, and what it refuses."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plain_layers as plain
import pytest
from scipy.special import expit, softmax

from symbayes import trees
from symbayes.networks import Transformer, transformer


def test_number_of_parameters_for_rows_of_mnist() -> None:
    x = jax.ShapeDtypeStruct((2, 28, 28, 1), jnp.float32)
    variables = jax.eval_shape(transformer().init, jax.random.key(0), x)
    # Two norms, four square matrices of which one has a bias, and the perceptron 64-128-64.
    block = 2 * 128 + 4 * 64 * 64 + 64 + (64 * 128 + 128) + (128 * 64 + 64)
    assert trees.size(variables["params"]["block1"]) == block == 33_280
    # Rows, positions, blocks, norm, head.
    assert trees.size(variables) == (28 * 64 + 64) + 28 * 64 + 2 * block + 128 + 650 == 70_986
    assert jax.eval_shape(transformer().apply, variables, x).shape == (2, 10)


def test_number_of_parameters_for_tokens() -> None:
    network = transformer(outputs=2, vocabulary=50, width=6, heads=3, layers=1, hidden=5)
    variables = jax.eval_shape(network.init, jax.random.key(0), jax.ShapeDtypeStruct((1, 7), jnp.int32))
    block = 2 * 12 + 4 * 36 + 6 + (6 * 5 + 5) + (5 * 6 + 6)
    assert trees.size(variables) == 50 * 6 + 7 * 6 + block + 12 + (6 * 2 + 2)


def layer_norm(layer: dict[str, Any], x: np.ndarray) -> np.ndarray:
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return layer["scale"] * (x - mean) / np.sqrt(var + 1e-6) + layer["bias"]


def plain_block(block: dict[str, Any], x: np.ndarray, heads: int) -> np.ndarray:
    """Every head by itself, with its own columns of the kernels."""
    normed, size = layer_norm(block["norm1"], x), x.shape[-1] // heads
    parts = {name: np.float64(block["attention"][name]["kernel"]) for name in ("query", "key", "value")}
    mixed = []
    for head in range(heads):
        columns = slice(head * size, (head + 1) * size)
        query, key, value = (normed @ parts[name][:, columns] for name in ("query", "key", "value"))
        weights = softmax(np.einsum("nqd,nkd->nqk", query, key) / np.sqrt(size), axis=-1)
        mixed.append(np.einsum("nqk,nkd->nqd", weights, value))
    x = x + plain.dense(block["attention"]["output"], np.concatenate(mixed, axis=-1))
    inner = plain.dense(block["up"], layer_norm(block["norm2"], x))
    return x + plain.dense(block["down"], inner * expit(inner))


@pytest.mark.parametrize("tokens", [True, False])
def test_forward_is_that_of_plain_einsum(tokens: bool) -> None:
    network = transformer(
        outputs=3, vocabulary=9 if tokens else None, width=6, heads=2, layers=2, hidden=5, activation="silu"
    )
    rng = np.random.default_rng(0)
    x = (
        rng.integers(0, 9, size=(4, 5)).astype(np.int32)
        if tokens
        else rng.normal(size=(4, 5, 3, 2)).astype(np.float32)
    )
    variables = plain.random_variables(network, x, seed=1)
    params = variables["params"]
    z = np.float64(params["embedding"])[x] if tokens else plain.dense(params["rows"], x.reshape(4, 5, 6))
    z = z + params["position"]
    for name in ("block1", "block2"):
        z = plain_block(params[name], z, heads=2)
    expected = plain.dense(params["head"], layer_norm(params["norm"], z).mean(axis=1))
    np.testing.assert_allclose(plain.outputs(network, variables, x), expected, rtol=1e-3, atol=1e-4)


def test_sequences_of_vectors_are_taken_as_they_are() -> None:
    network = transformer(width=4, heads=1, layers=1, hidden=3)
    x = np.random.default_rng(1).normal(size=(2, 5, 6)).astype(np.float32)
    variables = plain.random_variables(network, x, seed=2)
    as_image = plain.outputs(network, variables, x.reshape(2, 5, 3, 2))
    np.testing.assert_allclose(plain.outputs(network, variables, x), as_image, rtol=1e-5)


def test_inputs_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="without a vocabulary the transformer takes sequences"):
        transformer().init(jax.random.key(0), jnp.zeros((1, 5)))
    with pytest.raises(ValueError, match=r"with a vocabulary the transformer takes tokens \(length,\)"):
        transformer(vocabulary=9).init(jax.random.key(0), jnp.zeros((1, 5, 2)))
    network, x = transformer(vocabulary=9, width=4, layers=1), jnp.zeros((1, 5))
    with pytest.raises(TypeError, match="integer tokens"):
        jax.eval_shape(lambda key: network.apply(network.init(key, x), x), jax.random.key(0))


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValueError, match="the width 10 does not divide into 4 heads of equal size"):
        Transformer(width=10, heads=4)
    with pytest.raises(ValueError, match="vocabulary must be positive integers, not 0"):
        Transformer(vocabulary=0)
