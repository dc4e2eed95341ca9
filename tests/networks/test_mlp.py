"""The perceptron against plain numpy, its size, and the configurations that it refuses."""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes import trees
from symbayes.networks import MLP, NNXNetwork, mlp
from symbayes.networks.mlp import ACTIVATIONS

PLAIN = {
    "relu": lambda z: np.maximum(z, 0),
    "leaky_relu": lambda z: np.where(z > 0, z, 0.01 * z),
    "tanh": np.tanh,
    "silu": lambda z: z * scipy.special.expit(z),
    "gelu": lambda z: z / 2 * (1 + np.vectorize(math.erf)(z / math.sqrt(2))),
    # JAX's default form.
    "gelu_tanh": lambda z: z / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))),
}


def random_variables(network: NNXNetwork, x: np.ndarray, seed: int) -> dict[str, Any]:
    """Numbers for every variable, biases too, which begin at zero."""
    rng = np.random.default_rng(seed)
    shapes = jax.eval_shape(network.init, jax.random.key(0), x)
    return jax.tree.map(lambda leaf: rng.normal(size=leaf.shape).astype(np.float32), shapes)


def plain_forward(variables: dict[str, Any], x: np.ndarray, activation: str) -> np.ndarray:
    layers = variables["params"]
    names = sorted(layers, key=trees.natural_key)
    z = x.reshape(len(x), -1).astype(np.float64)
    for name in names:
        z = z @ layers[name]["kernel"].astype(np.float64) + layers[name].get("bias", 0.0)
        z = z if name == "output" else PLAIN[activation](z)
    return z


def test_every_activation_has_an_oracle() -> None:
    assert PLAIN.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", [True, False])
def test_forward_is_that_of_plain_numpy(activation: Any, bias: bool) -> None:
    network = mlp(hidden=(7, 4), outputs=3, activation=activation, bias=bias)
    x = np.random.default_rng(1).normal(size=(5, 2, 3)).astype(np.float32)
    variables = random_variables(network, x, seed=2)
    np.testing.assert_allclose(
        network.apply(variables, jnp.asarray(x)),
        plain_forward(variables, x, activation),
        rtol=1e-4,
        atol=1e-4,
    )


def test_eleven_layers_are_applied_in_their_order() -> None:
    """hidden10 comes after hidden2, also in the names."""
    network = mlp(hidden=tuple(range(3, 14)), outputs=2, activation="tanh")
    x = np.random.default_rng(3).normal(size=(4, 2)).astype(np.float32)
    variables = random_variables(network, x, seed=4)
    np.testing.assert_allclose(
        network.apply(variables, jnp.asarray(x)), plain_forward(variables, x, "tanh"), atol=1e-4
    )
    kernels = [name for name in trees.names(variables) if name.endswith("kernel")]
    layers = [*(f"hidden{i}" for i in range(1, 12)), "output"]
    assert kernels == [f"params/{layer}/kernel" for layer in layers]


@given(st.lists(st.integers(1, 9), max_size=3), st.integers(1, 5), st.integers(1, 6), st.booleans())
@settings(max_examples=15)
def test_number_of_parameters(hidden: list[int], outputs: int, inputs: int, bias: bool) -> None:
    network = mlp(hidden, outputs, bias=bias)
    variables = jax.eval_shape(network.init, jax.random.key(0), np.zeros((1, inputs), np.float32))
    widths = [inputs, *hidden, outputs]
    assert trees.size(variables["params"]) == sum((a + bias) * b for a, b in itertools.pairwise(widths))
    assert variables["stats"] == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": (4, 0)}, r"layer widths are positive integers, not \(4, 0\) and 10"),
        ({"hidden": (-1,)}, r"layer widths are positive integers, not \(-1,\)"),
        ({"outputs": 0}, r"layer widths are positive integers, not \(32,\) and 0"),
    ],
)
def test_widths_must_be_positive(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MLP(**changes)


def test_outputs_may_have_a_shape() -> None:
    x = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    flat, shaped = mlp(hidden=(3,), outputs=24), mlp(hidden=(3,), outputs=(2, 3, 4))
    variables = random_variables(flat, x, 1)
    found = shaped.apply(variables, jnp.asarray(x))
    np.testing.assert_array_equal(found, flat.apply(variables, jnp.asarray(x)).reshape(5, 2, 3, 4))
    with pytest.raises(ValueError, match="layer widths are positive integers"):
        mlp(outputs=(2, 0))
