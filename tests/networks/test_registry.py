"""Every network of the table: it learns, its dropout follows its key, and another process rebuilds it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import own_networks
import plain_layers as plain
import pytest

from symbayes import specs, trees
from symbayes.networks import (
    NETWORKS,
    Network,
    NNXNetwork,
    ResNet,
    ResNetFRN,
    from_functions,
    from_name,
    from_spec,
    make,
    transformer,
)

# Options that make each network small, and the shape of its inputs.
SMALL: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "mlp": ({"hidden": (5,)}, (8, 3, 2)),
    "lenet": ({}, (8, 28, 28, 1)),
    "cnn": ({"channels": (3, 4), "hidden": (5,)}, (8, 9, 7, 2)),
    "resnet20-frn": ({"width": 2}, (8, 8, 8, 3)),
    "resnet18": ({"width": 2}, (8, 8, 8, 3)),
    "alexnet": ({"channels": (2, 3, 4, 3, 3), "dense": (6, 5)}, (8, 8, 8, 3)),
    "cnn-lstm": (
        {"vocabulary": 11, "embedding": 4, "filters": 5, "kernel": 3, "pool": 2, "cells": 4},
        (8, 9),
    ),
    "transformer": ({"width": 6, "heads": 2, "layers": 1, "hidden": 5}, (8, 4, 3, 2)),
}


def small(name: str, **more: Any) -> tuple[Network, np.ndarray]:
    options, shape = SMALL[name]
    return make(name, outputs=3, **options, **more), inputs(shape)


def shallow(name: str, **more: Any) -> tuple[Network, np.ndarray]:
    """The same with fewer blocks, where compiling takes long."""
    fewer = {"resnet20-frn": ResNetFRN(1, 2, 3, **more), "resnet18": ResNet((1, 1), 2, 3, **more)}
    return (NNXNetwork(fewer[name]), inputs(SMALL[name][1])) if name in fewer else small(name, **more)


def inputs(shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(0)
    if len(shape) == 2:
        return rng.integers(0, 11, size=shape).astype(np.int32)
    return rng.normal(size=shape).astype(np.float32)


def test_the_table_is_tested_as_a_whole() -> None:
    assert SMALL.keys() == NETWORKS.keys()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_few_steps_learn_random_labels(name: str) -> None:
    network, x = shallow(name)
    y = jnp.asarray(np.random.default_rng(1).integers(0, 3, size=len(x)))
    optimiser = optax.adam(0.01)

    def loss(params: Any, stats: Any, key: jax.Array) -> Any:
        outputs, stats = network.apply_train({"params": params, "stats": stats}, jnp.asarray(x), key)
        return optax.softmax_cross_entropy_with_integer_labels(outputs, y).mean(), stats

    @jax.jit
    def step(params: Any, stats: Any, state: Any, key: jax.Array) -> Any:
        (value, stats), slope = jax.value_and_grad(loss, has_aux=True)(params, stats, key)
        change, state = optimiser.update(slope, state)
        return optax.apply_updates(params, change), stats, state, value, slope

    variables = plain.random_variables(network, x, seed=2)
    params, stats = variables["params"], variables["stats"]
    state, losses = jax.jit(optimiser.init)(params), []
    for key in jax.random.split(jax.random.key(3), 30):
        params, stats, state, value, slope = step(params, stats, state, key)
        losses.append(float(value))
    assert losses[-1] < 0.7 * losses[0]
    still = [path for path, leaf in trees.flatten(slope).items() if not np.any(leaf)]
    assert not still, "these parameters take no part"
    assert (stats != {}) == (name == "resnet18")


@pytest.mark.parametrize("name", NETWORKS)
def test_dropout_is_off_without_a_key_and_follows_it_with_one(name: str) -> None:
    (network, x), (without, _) = shallow(name, dropout=0.5), shallow(name)
    variables = plain.random_variables(network, x, seed=5)
    deterministic = plain.outputs(network, variables, x)
    np.testing.assert_allclose(deterministic, plain.outputs(without, variables, x), rtol=1e-5, atol=1e-6)
    apply = jax.jit(network.apply)
    dropped = apply(variables, x, jax.random.key(1))
    np.testing.assert_array_equal(dropped, apply(variables, x, jax.random.key(1)))
    assert not np.array_equal(dropped, deterministic)
    assert not np.array_equal(dropped, apply(variables, x, jax.random.key(2)))


CHILD = """
import json, sys
import numpy as np
import plain_layers as plain
from symbayes.networks import from_spec

folder = sys.argv[1]
given = np.load(folder + "/inputs.npz")
made = {}
for name, encoded in json.load(open(folder + "/specs.json")).items():
    network, x = from_spec(encoded), given[name]
    made[name] = plain.outputs(network, plain.random_variables(network, x, seed=5), x)
np.savez(folder + "/outputs.npz", **made)
"""


def test_another_process_rebuilds_every_network_from_json(tmp_path: Path) -> None:
    table = inputs((6, 2, 2)).reshape(6, 4)
    made = {name: shallow(name) for name in NETWORKS} | {
        "nnx": (from_name("own_networks:Small", inputs=4), table),
        "equinox": (from_name("own_networks:SmallEquinox", inputs=4, widths=[3, 5]), table),
        "functions": (from_functions(own_networks.init, own_networks.apply, width=4), table),
        "imported": (from_name("own_networks:make_network", hidden=[3]), table),
    }
    encoded = {name: specs.encode(network.spec) for name, (network, _) in made.items()}
    (tmp_path / "specs.json").write_text(json.dumps(encoded))
    np.savez(tmp_path / "inputs.npz", **{name: x for name, (_, x) in made.items()})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", CHILD, str(tmp_path)], check=True, env=environment)
    rebuilt = np.load(tmp_path / "outputs.npz")
    assert set(rebuilt) == set(made)
    for name, (network, x) in made.items():
        variables = plain.random_variables(network, x, seed=5)
        np.testing.assert_array_equal(rebuilt[name], plain.outputs(network, variables, x))


@pytest.mark.parametrize("name", NETWORKS)
def test_specs_decide_equality(name: str) -> None:
    network, again, other = small(name)[0], small(name)[0], small(name, dropout=0.25)[0]
    assert network == again
    assert hash(network) == hash(again)
    assert network != other
    assert network.spec.outputs == 3
    kept = json.loads(json.dumps(specs.encode(other.spec)))
    assert specs.decode(kept, type(network.spec).kinds) == other.spec


def test_names_and_options_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no network is called 'resnet-18' \(did you mean 'resnet18'\?\)"):
        make("resnet-18", outputs=3)
    with pytest.raises(
        ValueError, match=r"cnn takes the options activation, channels, dropout, hidden, not width"
    ):
        make("cnn", outputs=3, width=4)
    with pytest.raises(ValueError, match="outputs must be positive integers"):
        make("lenet", outputs=0)


def test_a_vocabulary_is_for_networks_that_read_texts() -> None:
    assert make("transformer", outputs=2, vocabulary=50) == transformer(outputs=2, vocabulary=50)
    with pytest.raises(
        ValueError, match=r"^lenet does not read texts: the networks that do are cnn-lstm, transformer$"
    ):
        make("lenet", outputs=2, vocabulary=50)
    made = make("own_networks:make_network", outputs=5, vocabulary=50)
    assert made == from_name("own_networks:make_network", outputs=5), "it takes no vocabulary"


def test_networks_of_ones_own_are_made_by_path() -> None:
    assert make("own_networks:make_network", outputs=5) == from_name("own_networks:make_network", outputs=5)
    # These do not take a number of outputs.
    assert make("own_networks:make_small", outputs=5, inputs=3) == from_name(
        "own_networks:make_small", inputs=3
    )
    assert make("own_networks:ready", outputs=5) == from_name("own_networks:ready")
    with pytest.raises(ValueError, match="there is no module 'nowhere'"):
        make("nowhere:Net", outputs=5)


def test_outputs_with_positions_are_for_networks_that_have_them() -> None:
    network = make("mlp", outputs=(8, 4, 1))
    stored = json.loads(json.dumps(specs.encode(network.spec)))
    assert from_spec(stored) == network
    assert from_spec(stored) != make("mlp", outputs=32)
    with pytest.raises(ValueError, match=r"lenet has one output per class or target, .* take mlp"):
        make("lenet", outputs=(8, 4, 1))
