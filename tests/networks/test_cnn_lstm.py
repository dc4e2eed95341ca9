"""The network for text against a hand-written loop, its size, and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import plain_layers as plain
import pytest
from scipy.special import expit

from symbayes import trees
from symbayes.networks import CNNLSTM, cnn_lstm


def test_number_of_parameters_for_imdb() -> None:
    x = jax.ShapeDtypeStruct((2, 100), jnp.int32)
    variables = jax.eval_shape(cnn_lstm().init, jax.random.key(0), x)
    params = variables["params"]
    assert params["embedding"].shape == (20_000, 128)
    assert trees.size(params["conv"]) == 5 * 128 * 64 + 64
    # Four gates, each with inputs, hidden state and bias.
    assert trees.size(params["lstm"]) == 4 * 128 * (64 + 128 + 1)
    assert trees.size(params["head"]) == 128 * 2 + 2
    assert trees.size(variables) == 2_560_000 + 41_024 + 98_816 + 258 == 2_700_098
    assert jax.eval_shape(cnn_lstm().apply, variables, x).shape == (2, 2)


def test_forward_is_that_of_a_loop_over_words() -> None:
    network = cnn_lstm(outputs=3, vocabulary=9, embedding=4, filters=3, kernel=3, pool=2, cells=5)
    tokens = np.random.default_rng(0).integers(1, 9, size=(4, 12)).astype(np.int32)
    variables = plain.random_variables(network, tokens, seed=1)
    params = variables["params"]
    lstm, expected = params["lstm"], []
    for text in tokens:
        words = np.float64(params["embedding"])[text]
        kernel, bias = np.float64(params["conv"]["kernel"]), params["conv"]["bias"]
        convolved = [np.einsum("kc,kcf->f", words[t : t + 3], kernel) + bias for t in range(10)]
        active = plain.relu(np.array(convolved))
        hidden, cell = np.zeros(5), np.zeros(5)
        for word in np.maximum(active[::2], active[1::2]):
            gates = word @ lstm["kernel"] + hidden @ lstm["recurrent"] + lstm["bias"]
            gate, candidate, forget, output = gates[:5], gates[5:10], gates[10:15], gates[15:]
            cell = expit(forget + 1) * cell + expit(gate) * np.tanh(candidate)
            hidden = expit(output) * np.tanh(cell)
        expected.append(plain.dense(params["head"], hidden))
    np.testing.assert_allclose(plain.outputs(network, variables, tokens), expected, rtol=1e-4, atol=1e-5)


def test_padding_in_front_changes_nothing_and_its_embedding_does_not_matter() -> None:
    network = cnn_lstm(outputs=3, vocabulary=9, embedding=4, filters=3, kernel=3, pool=2, cells=5)
    text = np.random.default_rng(1).integers(1, 9, size=(4, 12)).astype(np.int32)
    variables = plain.random_variables(network, text, seed=2)
    expected = plain.outputs(network, variables, text)
    embedding = np.concatenate([np.full((1, 4), 50.0, np.float32), variables["params"]["embedding"][1:]])
    other = {"params": {**variables["params"], "embedding": embedding}, "stats": {}}
    for padding in (1, 2, 7):
        padded = np.pad(text, ((0, 0), (padding, 0)))
        np.testing.assert_allclose(plain.outputs(network, other, padded), expected, rtol=1e-4, atol=1e-5)
    nothing = plain.outputs(network, variables, np.zeros((1, 12), np.int32))
    np.testing.assert_allclose(nothing[0], variables["params"]["head"]["bias"], rtol=1e-5)


def test_texts_too_short_and_inputs_that_are_no_tokens_are_refused() -> None:
    network = cnn_lstm(vocabulary=9, embedding=4, kernel=3, pool=4)
    with pytest.raises(ValueError, match=r"at least 6 tokens, not examples of shape \(5,\)"):
        network.init(jax.random.key(0), jnp.zeros((1, 5), jnp.int32))
    with pytest.raises(ValueError, match=r"not examples of shape \(8, 8, 1\)"):
        network.init(jax.random.key(0), jnp.zeros((1, 8, 8, 1)))
    x = jnp.zeros((1, 8))
    with pytest.raises(TypeError, match="integer tokens"):
        jax.eval_shape(lambda key: network.apply(network.init(key, x), x), jax.random.key(0))


def test_bad_options_are_refused() -> None:
    for name in ("vocabulary", "embedding", "filters", "kernel", "pool", "cells", "outputs"):
        with pytest.raises(ValueError, match=f"{name} must be positive integers, not 0"):
            CNNLSTM(**{name: 0})
