"""Every network by name gets its page, and so does a regression, at the smallest size that means it.

Draws are fresh networks: what a page needs of a run is draws and a record.
"""

from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes.analyse import Bounds
from symbayes.data.catalogue import UCI_ROWS
from symbayes.draws import Origin
from symbayes.networks import NNXNetwork, ResNet, ResNetFRN

BOUNDS = Bounds(draws=40, examples=6, samples=2, pairs=1, steps=3, weights=20)

NETWORKS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "lenet": ({}, (28, 28, 1)),
    "cnn": ({"channels": (2, 2), "hidden": (3,)}, (5, 5, 1)),
    "resnet20-frn": ({"width": 2}, (4, 4, 1)),
    "resnet18": ({"width": 2}, (4, 4, 1)),
    "alexnet": ({"channels": (2, 2, 2, 2, 2), "dense": (3, 3)}, (8, 8, 1)),
    "cnn-lstm": ({"vocabulary": 7, "embedding": 2, "filters": 2, "kernel": 3, "pool": 2, "cells": 2}, (9,)),
    "transformer": ({"width": 4, "heads": 2, "layers": 1, "hidden": 3}, (4, 3, 2)),
}
"""Options that make each network small, and the shape of an input; the perceptron has a test of its own."""


SHAPES = [(inputs, max(20, rows // 500)) for _, _, rows, inputs, _ in UCI_ROWS]
"""Inputs of every UCI set, and the 500th part of its rows, but at least twenty."""


def drawn(posterior: sb.Posterior, chains: int, count: int) -> sb.Draws:
    """Fresh networks as draws of a run in memory."""
    keys = jax.random.split(jax.random.key(0), (chains, count))
    variables = jax.jit(jax.vmap(jax.vmap(posterior.init)))(keys)
    config = {"method": {"kind": "Fresh"}, "posterior": posterior.describe()}
    draws = sb.Draws.from_variables(jax.tree.map(np.asarray, variables))
    return sb.Draws(draws.segments, origin=Origin(config, posterior))


def page(network: Any, likelihood: Any, data: sb.data.Dataset, chains: int, count: int) -> str:
    posterior = sb.Posterior(network, likelihood, sb.priors.Normal(), data.train)
    return sb.Report.of({"fresh": drawn(posterior, chains, count)}, data, bounds=BOUNDS).html()


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.usefixtures("blank_figures")
def test_every_network_gets_its_page(name: str) -> None:
    options, shape = NETWORKS[name]
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 7, (12, *shape)).astype(np.int32)
    x = whole if len(shape) == 1 else rng.random((12, *shape)).astype(np.float32)
    part = sb.data.Examples(x, np.arange(12, dtype=np.int32) % 2)
    vocabulary = options.get("vocabulary")
    data = sb.data.Dataset("few", part, part[:0], part[:6], 2, (), "", vocabulary=vocabulary)
    shallow = {"resnet20-frn": ResNetFRN(1, 2, 2), "resnet18": ResNet((1, 1), 2, 2)}
    network = NNXNetwork(shallow[name]) if name in shallow else sb.networks.make(name, outputs=2, **options)
    made = page(network, sb.likelihoods.Categorical(), data, 2, 2)
    assert "accuracy" in made
    assert "Symmetry of fresh" in made


def test_every_network_by_name_is_here() -> None:
    assert {"mlp", *NETWORKS} == set(sb.networks.NETWORKS)


@pytest.mark.parametrize(("inputs", "rows"), SHAPES, ids=[row[0] for row in UCI_ROWS])
@pytest.mark.usefixtures("blank_figures")
def test_a_regression_of_every_uci_shape_gets_its_page(inputs: int, rows: int) -> None:
    rng = np.random.default_rng(rows)
    data = sb.data.from_arrays(rng.normal(size=(rows, inputs)), rng.normal(size=rows), test=0.1, validation=0)
    network = sb.networks.mlp(hidden=(2,), outputs=1)
    made = page(network, sb.likelihoods.Gaussian(0.5), data, 2, 2)
    assert f"{round(0.1 * rows)} examples" in made
    assert "Predicted against true" in made


def test_a_regression_gets_its_page_with_more_draws_than_weights() -> None:
    """As many inputs as the smallest regression set has, and one hidden unit of a perceptron: ranks are
    limited by the weights, and not by the draws."""
    rng, inputs = np.random.default_rng(0), min(row[3] for row in UCI_ROWS)
    data = sb.data.from_arrays(rng.normal(size=(20, inputs)), rng.normal(size=20), test=6, validation=0)
    weights = inputs + 1 + 1 + 1
    network = sb.networks.mlp(hidden=(1,), outputs=1)
    made = page(network, sb.likelihoods.Gaussian(0.5), data, 2, weights // 2 + 2)
    assert "RMSE" in made
    assert "Predicted against true" in made
