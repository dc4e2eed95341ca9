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


def plain_block(block: dict[str, Any], x: np.ndarray, heads: int, real: np.ndarray) -> np.ndarray:
    """Every head by itself, with its own columns of the kernels."""
    normed, size = layer_norm(block["norm1"], x), x.shape[-1] // heads
    parts = {name: np.float64(block["attention"][name]["kernel"]) for name in ("query", "key", "value")}
    mixed = []
    for head in range(heads):
        columns = slice(head * size, (head + 1) * size)
        query, key, value = (normed @ parts[name][:, columns] for name in ("query", "key", "value"))
        scores = np.einsum("nqd,nkd->nqk", query, key) / np.sqrt(size)
        weights = softmax(np.where(real[:, None], scores, -np.inf), axis=-1)
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
        (rng.integers(1, 9, size=(4, 5)) * (np.arange(5) >= [[0], [3], [1], [0]])).astype(np.int32)
        if tokens
        else rng.normal(size=(4, 5, 3, 2)).astype(np.float32)
    )
    variables = plain.random_variables(network, x, seed=1)
    params = variables["params"]
    z = np.float64(params["embedding"])[x] if tokens else plain.dense(params["rows"], x.reshape(4, 5, 6))
    z = z + params["position"]
    real = x > 0 if tokens else np.ones((4, 5), bool)
    for name in ("block1", "block2"):
        z = plain_block(params[name], z, heads=2, real=real)
    z = layer_norm(params["norm"], z)
    pooled = np.stack([text[kept].mean(axis=0) for text, kept in zip(z, real, strict=True)])
    expected = plain.dense(params["head"], pooled)
    np.testing.assert_allclose(plain.outputs(network, variables, x), expected, rtol=1e-3, atol=1e-4)


def test_padding_changes_nothing_and_its_embedding_does_not_matter() -> None:
    network = transformer(outputs=3, vocabulary=9, width=6, heads=2, layers=2, hidden=5)
    text = np.random.default_rng(2).integers(1, 9, size=(4, 5)).astype(np.int32)
    variables = plain.random_variables(network, text, seed=3)
    expected = plain.outputs(network, variables, text)
    params = variables["params"]
    for before, after in ((3, 0), (0, 2), (1, 2)):
        padded = np.pad(text, ((0, 0), (before, after)))
        position = np.pad(params["position"], ((before, after), (0, 0)), constant_values=2.0)
        embedding = np.concatenate([np.full((1, 6), 50.0, np.float32), params["embedding"][1:]])
        moved = {"params": {**params, "position": position, "embedding": embedding}, "stats": {}}
        np.testing.assert_allclose(plain.outputs(network, moved, padded), expected, rtol=1e-4, atol=1e-5)


def test_a_text_of_padding_alone_gives_the_bias_of_the_head() -> None:
    network = transformer(outputs=3, vocabulary=9, width=6, heads=2, layers=1, hidden=5)
    nothing = np.zeros((2, 4), np.int32)
    variables = plain.random_variables(network, nothing, seed=4)
    bias = np.tile(variables["params"]["head"]["bias"], (2, 1))
    np.testing.assert_allclose(plain.outputs(network, variables, nothing), bias, rtol=1e-5)


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
