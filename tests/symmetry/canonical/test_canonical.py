"""Canonical forms: the same for the whole orbit, the same function, and as the rules say."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes import trees
from symbayes.draws import Draws
from symbayes.symmetry import canonical, discover

from ..network_kinds import KINDS, kind
from ..symmetry_networks import draw, inputs

relu = jax.nn.relu


def assert_same(a, b, **tolerance):
    for path, leaf in trees.flatten(a).items():
        np.testing.assert_allclose(leaf, trees.flatten(b)[path], err_msg=path, **tolerance)


@functools.cache
def act(name):
    return jax.jit(kind(name).group.act)


def one(variables):
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], variables)


@pytest.mark.parametrize(
    ("name", "scale"),
    [(name, "unit-norm") for name in KINDS]
    + [(name, "minimal-mass") for name in ("relu", "attention", "residual_batch_norm")],
)
def test_an_orbit_has_one_canonical_form_with_the_same_function(name, scale):
    network = kind(name)
    group, variables = network.group, network.draw(2)
    moved = [act(name)(group.random_element(jax.random.key(n)), variables) for n in range(2)]
    found = canonical(trees.stack([variables, *moved]), group, scale=scale)
    first = trees.index(found, 0)
    for n in (1, 2):
        assert_same(trees.index(found, n), first, rtol=1e-3, atol=1e-5)
    assert_same(trees.index(canonical(one(first), group, scale=scale), 0), first, rtol=1e-4, atol=1e-5)
    outputs = network.apply(variables, network.x)
    np.testing.assert_allclose(network.apply(first, network.x), outputs, rtol=1e-3, atol=1e-4)


@given(st.sampled_from(["relu", "tanh", "attention"]), st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
@settings(max_examples=12)
def test_the_form_forgets_every_element(name, seed, element):
    network = kind(name)
    variables = network.draw(seed)
    moved = act(name)(network.group.random_element(jax.random.key(element)), variables)
    a, b = (canonical(one(v), network.group) for v in (variables, moved))
    assert_same(a, b, rtol=1e-3, atol=1e-4)


def test_incoming_weights_have_norm_one_and_the_largest_come_first():
    """The bias counts in the norm; the order is by the maximum over the whole row, not one entry."""
    network = kind("relu")
    found = trees.flatten(canonical(one(network.draw(4)), network.group))
    for layer in ("l1", "l2", "l3"):
        kernel, bias = found[f"params/{layer}/kernel"][0], found[f"params/{layer}/bias"][0]
        np.testing.assert_allclose(np.sum(kernel**2, 0) + bias**2, 1, rtol=1e-5)
        assert np.all(np.diff(kernel.max(0)) <= 0)


def test_the_largest_incoming_weight_is_positive():
    network = kind("tanh")
    found = trees.flatten(canonical(one(network.draw(4)), network.group, order=None))
    for layer in ("l1", "l2", "l3"):
        rows = np.concatenate([found[f"params/{layer}/kernel"][0], found[f"params/{layer}/bias"]])
        assert np.all(rows[np.abs(rows).argmax(0), np.arange(rows.shape[1])] > 0)


def test_a_worked_example():
    """Two ReLU units: (3, 4) -> 10 has norm 5, so (0.6, 0.8) -> 50; (0, 1) -> 2 stays and comes first."""
    variables = {
        "a": np.array([[3.0, 0.0], [4.0, 1.0]], np.float32),
        "b": np.array([[10.0], [2.0]], np.float32),
    }
    group = discover(lambda v, x: relu(x @ v["a"]) @ v["b"], variables, inputs(8, 2))
    found = trees.index(canonical(one(variables), group), 0)
    np.testing.assert_allclose(found["a"], [[0.0, 0.6], [1.0, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(found["b"], [[2.0], [50.0]], rtol=1e-6)
    kept = trees.index(canonical(one(variables), group, scale=None, order=None), 0)
    assert_same(kept, variables, rtol=0)


def test_powers_follow_the_activation():
    """Behind a squared ReLU the outgoing weights take the square of the factor."""
    variables = {"a": np.array([[2.0]], np.float32), "b": np.array([[3.0]], np.float32)}
    group = discover(lambda v, x: jnp.square(relu(x @ v["a"])) @ v["b"], variables, inputs(8, 1))
    found = trees.index(canonical(one(variables), group), 0)
    np.testing.assert_allclose([found["a"][0, 0], found["b"][0, 0]], [1.0, 12.0], rtol=1e-6)


def test_a_negative_gain_keeps_the_function():
    """Batch norm: dividing by a negative gain would turn the ReLU around; scales are positive."""

    def apply(v, x):
        p, s = v["params"], v["stats"]
        h = (x @ p["in"] - s["mean"]) * jax.lax.rsqrt(s["var"] + 1e-3) * p["gain"] + p["shift"]
        return relu(h) @ p["out"]

    shapes = {"params/in": (3, 5), "params/gain": (5,), "params/shift": (5,), "params/out": (5, 2)}
    variables = draw(shapes | {"stats/mean": (5,), "stats/var": (5,)})
    variables["params"]["gain"] = -jnp.abs(variables["params"]["gain"]) - 0.1
    x = inputs(8, 3)
    group = discover(apply, variables, x)
    found = trees.index(canonical(one(variables), group), 0)
    np.testing.assert_allclose(apply(found, x), apply(variables, x), rtol=1e-4, atol=1e-5)


def test_draws_stay_draws():
    network = kind("relu")
    variables = trees.stack([network.draw(n) for n in range(3)])
    found = canonical(Draws.from_variables(jax.tree.map(lambda leaf: leaf[None], variables)), network.group)
    assert isinstance(found, Draws)
    alone = canonical(variables, network.group)
    for path, leaf in trees.flatten(found.variables).items():
        np.testing.assert_array_equal(leaf[0], trees.flatten(alone)[path])


def test_unknown_rules_are_refused():
    network = kind("relu")
    with pytest.raises(ValueError, match="scale is 'minimal-mass'"):
        canonical(one(network.draw(0)), network.group, scale="norm")
    with pytest.raises(ValueError, match="order is 'sort'"):
        canonical(one(network.draw(0)), network.group, order="up")
