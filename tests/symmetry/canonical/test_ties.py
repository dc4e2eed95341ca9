"""Canonical forms of networks full of ties: pruned, with equal, dead and single units."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes import trees
from symbayes.symmetry import canonical, discover

from ..network_kinds import Kind, relu
from ..symmetry_networks import convolve, draw, inputs, layer_norm

COUNT = 32
"""Networks of each example: as many at once as the solver of minimal mass takes, and as many moved."""


def dense(activation, *sizes, bias=True):
    def apply(v, x):
        for k in range(len(sizes) - 1):
            x = x @ v[f"w{k}"] + (v[f"b{k}"] if bias else 0)
            x = x if k == len(sizes) - 2 else activation(x)
        return x

    shapes = {f"w{k}": sizes[k : k + 2] for k in range(len(sizes) - 1)}
    shapes |= {f"b{k}": sizes[k + 1 : k + 2] for k in range(len(sizes) - 1) if bias}
    return apply, shapes, inputs(8, sizes[0])


def convolution():
    def apply(v, x):
        h = relu(convolve(x, v["c1"]) + v["b1"])
        return relu(convolve(h, v["c2"])).mean((1, 2)) @ v["out"]

    return apply, {"c1": (2, 2, 1, 4), "b1": (4,), "c2": (1, 1, 4, 3), "out": (3, 2)}, inputs(4, 3, 3, 1)


def batch_norm():
    """Running statistics are the last to tell units apart."""

    def apply(v, x):
        p, s = v["params"], v["stats"]
        h = (x @ p["in"] - s["mean"]) * jax.lax.rsqrt(s["var"] + 1e-3) * p["gain"] + p["shift"]
        return relu(h) @ p["out"]

    shapes = {"params/in": (2, 4), "params/gain": (4,), "params/shift": (4,), "params/out": (4, 2)}
    return apply, shapes | {"stats/mean": (4,), "stats/var": (4,)}, inputs(8, 2)


def common_sign():
    def apply(v, x):
        return relu(layer_norm(x @ v["in"], v["scale"], v["bias"])) @ v["out"]

    return apply, {"in": (2, 4), "scale": (4,), "bias": (4,), "out": (4, 2)}, inputs(8, 2)


def heads():
    """Heads, and dimensions within each."""

    def apply(v, x):
        q, k, u = (jnp.einsum("btc,chd->bthd", x, v[name]) for name in ("query", "key", "value"))
        weights = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k))
        return jnp.einsum("bhts,bshd,hdo->bto", weights, u, v["out"])

    return apply, dict.fromkeys(("query", "key", "value"), (2, 2, 3)) | {"out": (2, 3, 2)}, inputs(2, 3, 2)


def recurrent():
    """Units and their signs on both axes of one kernel."""

    def apply(v, x):
        def step(h, row):
            return jnp.tanh(row @ v["w"] + h @ v["u"]), None

        return jax.lax.scan(step, jnp.zeros((len(x), 4)), jnp.swapaxes(x, 0, 1))[0] @ v["out"]

    return apply, {"w": (2, 4), "u": (4, 4), "out": (4, 2)}, inputs(4, 3, 2)


NETWORKS = {
    "relu": lambda: dense(relu, 2, 5, 4, 2),
    "one input": lambda: dense(relu, 1, 4, 3, 1, bias=False),
    "one unit": lambda: dense(relu, 2, 3, 1, 3, 2),
    "one unit without bias": lambda: dense(relu, 1, 3, 1, 2, 1, bias=False),
    "tanh": lambda: dense(jnp.tanh, 2, 4, 4, 2),
    "tanh of one": lambda: dense(jnp.tanh, 1, 3, 1, 3, 1, bias=False),
    "convolution": convolution,
    "batch_norm": batch_norm,
    "common_sign": common_sign,
    "heads": heads,
    "recurrent": recurrent,
}
SCALED = ("relu", "one input", "one unit", "one unit without bias", "convolution", "batch_norm", "heads")


class Tied(Kind):
    def __init__(self, name):
        self.plain, self.shapes, self.x = NETWORKS[name]()
        self.apply = jax.jit(self.plain)
        self.many = jax.jit(jax.vmap(self.plain, (0, None)))
        self.elements = jax.jit(jax.vmap(self.group.random_element))
        self.act = jax.jit(jax.vmap(self.group.act))


network_of = functools.cache(Tied)


def spoilt(shapes, rng):
    """Weights of few values, or pruned, with some rows and columns of zeros and some copied."""
    flat = {}
    levels = rng.choice([1, 2, 3, 100])
    kept = rng.choice([0.3, 0.7, 1.0])
    for path, shape in shapes.items():
        array = rng.integers(-levels, levels + 1, shape) / levels
        array = array * (rng.uniform(size=shape) < kept)
        for axis in range(len(shape)):
            front = np.moveaxis(array, axis, 0)
            if rng.uniform() < 0.3:
                front[rng.integers(len(front))] = 0
            if rng.uniform() < 0.3:
                front[rng.integers(len(front))] = front[rng.integers(len(front))]
        flat[path] = np.abs(array) + 0.5 if path.endswith("var") else array
    return {path: array.astype(np.float32) for path, array in flat.items()}


@pytest.mark.parametrize(
    ("name", "scale"),
    [(name, "unit-norm") for name in NETWORKS] + [(name, "minimal-mass") for name in SCALED],
)
@given(seed=st.integers(0, 2**31 - 1))
@settings(max_examples=3)
def test_an_orbit_has_one_form_whatever_is_tied(name, scale, seed):
    network = network_of(name)
    rng = np.random.default_rng(seed)
    many = [spoilt(network.shapes, rng) for _ in range(COUNT)]
    raw = trees.unflatten({path: np.stack([flat[path] for flat in many]) for path in network.shapes})
    moved = network.act(network.elements(jax.random.split(jax.random.key(seed), COUNT)), raw)
    both = jax.tree.map(lambda a, b: np.concatenate([a, b]), raw, moved)
    found = canonical(both, network.group, scale=scale)
    for path, leaf in trees.flatten(found).items():
        one, two = leaf[:COUNT].reshape(COUNT, -1), leaf[COUNT:].reshape(COUNT, -1)
        size = 1 + np.abs(one).max(1, keepdims=True, initial=0)
        off = np.flatnonzero(np.any(np.abs(one - two) > 1e-3 * size, axis=1))
        assert not off.size, (path, off, {p: a[off[0]] for p, a in trees.flatten(raw).items()})
    outputs = network.many(raw, network.x)
    np.testing.assert_allclose(
        network.many(trees.index(found, slice(COUNT)), network.x), outputs, rtol=1e-2, atol=1e-3
    )


def form(apply, variables, x, **how):
    group = discover(apply, draw(trees.shapes(variables)), x)
    return trees.index(canonical(jax.tree.map(lambda leaf: leaf[None], variables), group, **how), 0)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_equal_incoming_weights_are_ordered_by_outgoing(order):
    """One input: all incoming weights become one, so the outgoing decide, largest first."""
    variables = {"a": np.ones((1, 4), np.float32), "b": np.array([[1.0], [4], [9], [16]], np.float32)[order]}
    found = form(lambda v, x: relu(x @ v["a"]) @ v["b"], variables, inputs(8, 1))
    np.testing.assert_array_equal(found["b"][:, 0], [16, 9, 4, 1])


def test_ties_are_broken_before_the_order_of_the_next_layer():
    """Two units of the first layer differ only in which unit of the second they feed."""
    first = np.array([[1.0, 1.0]], np.float32)
    middle = np.array([[2.0, 0.0], [0.0, 2.0]], np.float32)
    last = np.array([[5.0], [7.0]], np.float32)

    def apply(v, x):
        return jax.nn.gelu(jax.nn.gelu(x @ v["a"]) @ v["b"]) @ v["c"]

    for swapped in ([0, 1], [1, 0]):
        variables = {"a": first, "b": middle[swapped], "c": last}
        found = form(apply, variables, inputs(8, 1))
        np.testing.assert_array_equal(found["c"], [[7.0], [5.0]])
        np.testing.assert_array_equal(found["b"], [[2.0, 0.0], [0.0, 2.0]])


def test_a_sign_that_the_largest_weight_leaves_open():
    """Of incoming weights (1, -1) the first input decides; without any, the outgoing weights do."""
    for sign in (1, -1):
        variables = {
            "a": sign * np.array([[1.0, 0.0], [-1.0, 0.0]], np.float32),
            "b": sign * np.array([[3.0], [-2.0]], np.float32),
        }
        found = form(lambda v, x: jnp.tanh(x @ v["a"]) @ v["b"], variables, inputs(8, 2))
        np.testing.assert_array_equal(found["a"], [[1.0, 0.0], [-1.0, 0.0]])
        np.testing.assert_array_equal(found["b"], [[3.0], [2.0]])


@pytest.mark.parametrize("scale", ["unit-norm", "minimal-mass"])
def test_dead_units_have_one_scale(scale):
    """No incoming weights: the outgoing get norm one.  No outgoing weights: the incoming do."""
    variables = {
        "a": np.array([[0.0, 2.0, 3.0]], np.float32),
        "b": np.array([[-6.0, 8.0], [2.0, 0.0], [0.0, 0.0]], np.float32),
    }
    found = form(lambda v, x: relu(x @ v["a"]) @ v["b"], variables, inputs(8, 1), scale=scale)
    alive = 1 if scale == "unit-norm" else 2
    rows = [[alive, 4 / alive, 0], [0, -0.6, 0.8], [1, 0, 0]]
    np.testing.assert_allclose(np.concatenate([found["a"].T, found["b"]], 1), rows, rtol=1e-6)


def test_dead_units_do_not_count_in_the_scale_of_the_next_layer():
    """The weight of a unit without input changes no norm, whatever its size."""
    for weight in (1.0, 50.0):
        variables = {
            "a": np.array([[2.0, 0.0], [0.0, 0.0]], np.float32),
            "b": np.array([[3.0, 4.0], [0.0, weight]], np.float32),
            "c": np.array([[5.0], [7.0]], np.float32),
        }
        found = form(lambda v, x: relu(relu(x @ v["a"]) @ v["b"]) @ v["c"], variables, inputs(8, 2))
        np.testing.assert_allclose(found["a"], [[1.0, 0.0], [0.0, 0.0]], rtol=1e-6)
        np.testing.assert_allclose(found["b"], [[1.0, 1.0], [1.0, 0.0]], rtol=1e-6)
        np.testing.assert_allclose(found["c"], [[56.0], [30.0]], rtol=1e-6)


@pytest.mark.parametrize("scale", ["unit-norm", "minimal-mass"])
@pytest.mark.parametrize("size", [1e-31, 1e-39, 1e-44])
def test_weights_that_decayed_to_nothing_count_as_zero(scale, size):
    """Of dead units that weight decay shrinks for ever: to bring them to size one is beyond float32."""
    rng = np.random.default_rng(5)
    variables = {
        "a": rng.normal(size=(4, 6)).astype(np.float32),
        "b": rng.normal(size=(6, 5)).astype(np.float32),
        "c": rng.normal(size=(5, 2)).astype(np.float32),
    }
    dead = slice(0, 3)
    variables["a"][:, dead] *= size
    variables["a"][1:, dead] = 0

    def apply(v, x):
        return relu(relu(x @ v["a"]) @ v["b"]) @ v["c"]

    zero = {**variables, "a": np.where(np.abs(variables["a"]) < 1e-30, 0, variables["a"])}
    found, expected = (form(apply, v, inputs(8, 4), scale=scale) for v in (variables, zero))
    for name, leaf in expected.items():
        np.testing.assert_allclose(found[name], leaf, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scale", ["unit-norm", "minimal-mass"])
def test_what_a_dead_unit_has_left_is_never_huge(scale):
    """Its outgoing weights decay at different speeds while a network trains: the largest must not explode."""
    rng = np.random.default_rng(6)
    left = np.array([1e-2, 1e-8, 1e-12, 1e-18, 1e-24], np.float32)
    variables = {
        "a": rng.normal(size=(4, 6)).astype(np.float32),
        "b": rng.normal(size=(6, 5)).astype(np.float32),
        "c": rng.normal(size=(5, 5)).astype(np.float32),
        "d": rng.normal(size=(5, 2)).astype(np.float32),
    }
    variables["a"][:, :2] = 0
    variables["b"][:2] *= left
    variables["b"][:, 3] = [1e-20, 1e-8, 0, 0, 0, 0]  # dead too, and tied to those
    variables["c"][3] *= left

    def apply(v, x):
        return relu(relu(relu(x @ v["a"]) @ v["b"]) @ v["c"]) @ v["d"]

    found = form(apply, variables, inputs(8, 4), scale=scale)
    # Those of living units, of which a few factors are taken together.
    most = 100 * max(np.abs(leaf).max() for leaf in variables.values())
    assert max(np.abs(leaf).max() for leaf in found.values()) < most
    group = discover(apply, variables, inputs(8, 4))
    for number in range(3):
        moved = group.act(group.random_element(jax.random.key(number)), variables)
        for name, leaf in form(apply, moved, inputs(8, 4), scale=scale).items():
            np.testing.assert_allclose(leaf, found[name], rtol=1e-4, atol=1e-6)
