"""Networks made of NNX modules: equality, JSON, foreign variables, dropout and batch statistics."""

import json
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from symbayes import specs, trees
from symbayes.networks import Network, NNXNetwork, from_spec, mlp
from symbayes.networks.network import Spec

MOMENTUM = 0.9


@dataclass(frozen=True)
class Noisy(Spec):
    """A layer with batch statistics and two places of dropout."""

    rate: float = 0.5

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return NoisyModule(self, example_shape[0], rngs)


class NoisyModule(nnx.Module):
    def __init__(self, spec: Noisy, inputs: int, rngs: nnx.Rngs) -> None:
        self.norm = nnx.BatchNorm(inputs, momentum=MOMENTUM, rngs=rngs)
        self.first = nnx.Dropout(spec.rate, rngs=rngs)
        self.second = nnx.Dropout(spec.rate, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = self.norm(x)
        return jnp.concatenate([self.first(x), self.second(x)], axis=-1)


@dataclass(frozen=True)
class Remembering(Spec):
    """A module with state of a kind that a network does not carry."""

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        module: Any = nnx.Linear(example_shape[0], 1, rngs=rngs)
        module.cache = nnx.Cache(jnp.zeros(3))
        return module


@pytest.fixture(scope="module")
def network() -> NNXNetwork:
    return NNXNetwork(Noisy())


@pytest.fixture(scope="module")
def x() -> jax.Array:
    return jnp.asarray(3 + 2 * np.random.default_rng(0).normal(size=(50, 20)), jnp.float32)


@pytest.fixture(scope="module")
def variables(network: NNXNetwork, x: jax.Array) -> dict[str, Any]:
    return network.init(jax.random.key(0), x)


def test_is_a_network_and_keeps_its_promise_of_names(network: NNXNetwork, variables: dict[str, Any]) -> None:
    assert isinstance(network, Network)
    assert trees.names(variables) == [
        "params/norm/bias",
        "params/norm/scale",
        "stats/norm/mean",
        "stats/norm/var",
    ]


def test_equality_and_hash_are_those_of_the_spec() -> None:
    assert mlp(hidden=[4, 3]) == mlp(hidden=(4, 3))
    assert hash(mlp(hidden=[4, 3])) == hash(mlp(hidden=(4, 3)))
    different = {mlp(), mlp(hidden=(4,)), mlp(outputs=2), mlp(activation="tanh"), mlp(bias=False)}
    assert len(different) == 5
    assert NNXNetwork(Noisy(0.5)) != NNXNetwork(Noisy(0.4))


@pytest.mark.parametrize(
    "made", [mlp(hidden=(), outputs=1, bias=False), mlp((5, 6), 2, "gelu"), NNXNetwork(Noisy(0.1))]
)
def test_spec_survives_json(made: NNXNetwork) -> None:
    again = from_spec(json.loads(json.dumps(specs.encode(made.spec))))
    assert again == made
    assert hash(again) == hash(made)


def test_unknown_spec_is_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown kind 'Nothing': known here are .*MLP"):
        from_spec({"kind": "Nothing"})


def test_initialisation_follows_its_key(x: jax.Array) -> None:
    network = mlp(hidden=(3,), outputs=2)
    first, same, other = (network.init(jax.random.key(seed), x) for seed in (1, 1, 2))
    jax.tree.map(np.testing.assert_array_equal, first, same)
    kernels = [tree["params"]["hidden1"]["kernel"] for tree in (first, other)]
    assert not np.array_equal(*kernels)
    # LeCun's normal: variance one over the number of inputs, here within six standard errors.
    assert abs(float(jnp.var(kernels[0])) * 20 - 1) < 6 * np.sqrt(2 / 60)


def test_evaluation_without_a_key_is_deterministic(network: NNXNetwork, variables: Any, x: jax.Array) -> None:
    first = network.apply(variables, x)
    np.testing.assert_array_equal(first, network.apply(variables, x))
    # Fresh statistics are mean 0 and variance 1, up to the normaliser's epsilon.
    np.testing.assert_allclose(first, np.concatenate([x, x], axis=1), rtol=1e-4)


def test_a_key_switches_dropout_on_and_reproduces_it(
    network: NNXNetwork, variables: Any, x: jax.Array
) -> None:
    outputs = network.apply(variables, x, jax.random.key(1))
    np.testing.assert_array_equal(outputs, network.apply(variables, x, jax.random.key(1)))
    assert not np.array_equal(outputs, network.apply(variables, x, jax.random.key(2)))
    dropped = np.asarray(outputs) == 0
    # A thousand masks for each layer; five standard errors of a fair coin.
    assert abs(dropped.mean() - 0.5) < 5 * 0.5 / np.sqrt(dropped.size)
    np.testing.assert_allclose(
        np.asarray(outputs)[~dropped], 2 * np.concatenate([x, x], 1)[~dropped], rtol=1e-4
    )


def test_every_dropout_has_its_own_mask(network: NNXNetwork, variables: Any, x: jax.Array) -> None:
    first, second = np.split(np.asarray(network.apply(variables, x, jax.random.key(1))) == 0, 2, axis=1)
    assert abs((first == second).mean() - 0.5) < 5 * 0.5 / np.sqrt(first.size)


def test_evaluation_uses_the_statistics_and_leaves_them(
    network: NNXNetwork, variables: Any, x: jax.Array
) -> None:
    shifted = {**variables, "stats": {"norm": {"mean": jnp.full(20, 3.0), "var": jnp.full(20, 4.0)}}}
    expected = np.concatenate([(x - 3) / 2] * 2, axis=1)
    np.testing.assert_allclose(network.apply(shifted, x), expected, rtol=1e-3, atol=1e-4)
    dropped = np.asarray(network.apply(shifted, x, jax.random.key(1)))
    np.testing.assert_allclose(dropped[dropped != 0], 2 * expected[dropped != 0], rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(shifted["stats"]["norm"]["mean"], 3.0)


def test_training_uses_the_batch_and_returns_new_statistics(
    network: NNXNetwork, variables: Any, x: jax.Array
) -> None:
    train = jax.jit(network.apply_train)
    outputs, stats = train(variables, x, jax.random.key(5))
    assert jax.tree.structure(stats) == jax.tree.structure(variables["stats"])
    np.testing.assert_allclose(stats["norm"]["mean"], (1 - MOMENTUM) * x.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(stats["norm"]["var"], MOMENTUM + (1 - MOMENTUM) * x.var(axis=0), rtol=1e-4)
    np.testing.assert_array_equal(variables["stats"]["norm"]["mean"], 0.0)
    normed = np.concatenate([(x - x.mean(axis=0)) / x.std(axis=0)] * 2, axis=1)
    kept = np.asarray(outputs) != 0
    assert 0.4 < kept.mean() < 0.6
    np.testing.assert_allclose(np.asarray(outputs)[kept], 2 * normed[kept], rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(outputs, train(variables, x, jax.random.key(5))[0])
    assert not np.array_equal(outputs, train(variables, x, jax.random.key(6))[0])


def test_statistics_may_be_left_out_where_there_are_none(x: jax.Array) -> None:
    network = mlp(hidden=(), outputs=2)
    variables = network.init(jax.random.key(0), x)
    outputs = network.apply({"params": variables["params"]}, x)
    np.testing.assert_array_equal(outputs, network.apply(variables, x))


def test_variables_of_another_network_are_refused_by_name(x: jax.Array) -> None:
    variables = mlp(hidden=(4,)).init(jax.random.key(0), x)
    with pytest.raises(ValueError, match=r"missing \['hidden2/bias', 'hidden2/kernel'\], surplus \[\]"):
        mlp(hidden=(4, 4)).apply(variables, x)
    with pytest.raises(ValueError, match=r"missing \[\], surplus \['hidden1/bias', 'output/bias'\]"):
        mlp(hidden=(4,), bias=False).apply(variables, x)


def test_variables_of_other_shapes_are_refused_by_name(x: jax.Array) -> None:
    variables = mlp(hidden=(4,)).init(jax.random.key(0), x)
    with pytest.raises(ValueError, match=r"hidden1/\w+ has shape .*4.* for inputs of shape \(20,\) .*5"):
        mlp(hidden=(5,)).apply(variables, x)
    with pytest.raises(
        ValueError, match=r"kernel has shape \(20, 4\), but for inputs of shape \(3,\) .*\(3, 4\)"
    ):
        mlp(hidden=(4,)).apply(variables, x[:, :3])


def test_state_of_an_unknown_kind_is_refused(x: jax.Array) -> None:
    network = NNXNetwork(Remembering())
    with pytest.raises(TypeError, match=r"state that is neither Param, BatchStat nor Rng: .*cache"):
        network.apply(network.init(jax.random.key(0), x), x)
