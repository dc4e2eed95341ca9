"""Statistics computed again, against NumPy's of the same activations."""

import jax
import jax.numpy as jnp
import numpy as np
import own_networks
import pytest
from flax import nnx

from symbayes import trees
from symbayes.networks import from_nnx, has_statistics, mlp, recomputed


def make(rngs: nnx.Rngs, momentum: float = 0.99) -> own_networks.Small:
    module = own_networks.Small(4, rngs=rngs)
    module.norm.momentum = momentum
    return module


@pytest.mark.parametrize("momentum", [0.0, 0.9, 0.99])
def test_they_are_those_of_the_activations(momentum: float) -> None:
    x = np.random.default_rng(1).normal(size=(700, 4), scale=3).astype(np.float32)
    network = from_nnx(make, momentum=momentum)
    variables = network.init(jax.random.key(0), jnp.asarray(x[:1]))
    variables["params"]["layers"]["0"]["bias"] += np.array([0.0, 2.0, -1.0], np.float32)
    found = recomputed(network, variables, x, batch=300)
    layer = variables["params"]["layers"]["0"]
    hidden = np.tanh(x @ np.asarray(layer["kernel"]) + np.asarray(layer["bias"])).astype(np.float64)
    parts = hidden[:300], hidden[300:600]  # the rest does not fill a batch
    mean = np.mean([part.mean(axis=0) for part in parts], axis=0)
    variance = np.mean([part.var(axis=0) for part in parts], axis=0)
    np.testing.assert_allclose(found["stats"]["norm"]["mean"], mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["stats"]["norm"]["var"], variance, rtol=1e-4, atol=1e-5)
    assert found["params"] is variables["params"]


def test_a_normaliser_that_never_learns_keeps_its_own() -> None:
    x = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
    network = from_nnx(make, momentum=1.0)
    variables = network.init(jax.random.key(0), jnp.asarray(x[:1]))
    variables["stats"]["norm"]["mean"] += 3
    np.testing.assert_array_equal(recomputed(network, variables, x)["stats"]["norm"]["mean"], [3, 3, 3])


def test_networks_without_statistics_stay_as_they_are() -> None:
    network = mlp(hidden=(3,), outputs=2)
    variables = network.init(jax.random.key(0), jnp.zeros((1, 4)))
    assert not has_statistics(variables)
    assert recomputed(network, variables, np.zeros((5, 4))) is variables


def test_one_example_has_no_statistics() -> None:
    network = from_nnx(own_networks.Small, inputs=4)
    variables = network.init(jax.random.key(0), jnp.zeros((1, 4)))
    assert trees.size(variables["stats"]) == 6
    with pytest.raises(ValueError, match="at least two examples, not 1"):
        recomputed(network, variables, np.zeros((1, 4), np.float32))
