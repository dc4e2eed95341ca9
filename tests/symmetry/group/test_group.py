"""Elements of a group: laws, actions, random draws, and parameters that do not fit."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes import trees
from symbayes.symmetry import discover, transpositions

from ..symmetry_networks import draw, inputs

HEADS, DIM = 3, 4


def network(v, x):
    """Attention with its heads on two axes, fused gates, a recurrent kernel: every kind of site."""
    q, k, u = (jnp.einsum("btc,chd->bthd", x, v["params"][name]) for name in ("query", "key", "value"))
    weights = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k))
    h = jnp.einsum("bhts,bshd,hdc->btc", weights, u, v["params"]["out"])
    gate, up = jnp.split(h @ v["params"]["in"] + v["params"]["bias"], 2, -1)
    h = jax.nn.relu(gate) * (up - v["stats"]["mean"])
    h = h @ v["params"]["loop"] + jnp.tanh(h) @ v["params"]["loop"]
    return h @ v["params"]["head"]


SHAPES = {f"params/{name}": (3, HEADS, DIM) for name in ("query", "key", "value")}
SHAPES |= {"params/out": (HEADS, DIM, 5), "params/in": (5, 12), "params/bias": (12,), "stats/mean": (6,)}
SHAPES |= {"params/loop": (6, 6), "params/head": (6, 2)}
VARIABLES = draw(SHAPES)
X = inputs(2, 4, 3)
GROUP = discover(network, VARIABLES, X)

seeds = st.integers(0, 2**31 - 1)


@jax.jit
def element(seed):
    return GROUP.random_element(jax.random.key(seed))


act, compose, inverse = jax.jit(GROUP.act), jax.jit(GROUP.compose), jax.jit(GROUP.inverse)


def assert_close(a, b):
    for path, leaf in trees.flatten(a).items():
        np.testing.assert_allclose(leaf, trees.flatten(b)[path], rtol=1e-4, atol=1e-5, err_msg=path)


def assert_same(a, b):
    assert all(jax.tree.leaves(jax.tree.map(lambda x, y: np.allclose(x, y, atol=1e-5), a, b)))


def test_many_elements_in_numpy_are_those_of_the_compiled_program():
    """Composed, inverted and counted all at once on the host, and each by itself."""
    many = jax.tree.map(lambda *leaves: np.stack(leaves), *(element(seed) for seed in range(6)))
    several = jax.tree.map(lambda leaf: leaf.reshape(2, 3, *leaf.shape[1:]), many)
    back = GROUP.inverse(several)
    found = GROUP.compose(back, jax.tree.map(lambda leaf: leaf[::-1], several))
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves((back, found)))
    counts = transpositions(found)
    for n in range(6):
        here, other = divmod(n, 3), (1 - n // 3, n % 3)
        one, two = (jax.tree.map(lambda leaf, at=at: jnp.asarray(leaf[at]), several) for at in (here, other))
        expected = compose(inverse(one), two)
        assert_same(jax.tree.map(lambda leaf, at=here: leaf[at], found), expected)
        assert {name: c[here] for name, c in counts.items()} == transpositions(expected)


def test_the_group_has_every_kind_of_member():
    assert {len(p.over) for p in GROUP.permutations} == {0, 1}
    assert GROUP.signs
    assert GROUP.scales
    assert {len(site.axes) for sites in GROUP.sites.values() for site in sites} >= {1, 2}


@given(seeds, seeds)
@settings(max_examples=10)
def test_composition_acts_as_one_after_the_other(a, b):
    a, b = element(a), element(b)
    assert_close(act(compose(a, b), VARIABLES), act(a, act(b, VARIABLES)))


@given(seeds, seeds, seeds)
@settings(max_examples=10)
def test_composition_is_associative(a, b, c):
    a, b, c = element(a), element(b), element(c)
    assert_same(compose(a, compose(b, c)), compose(compose(a, b), c))


@given(seeds)
@settings(max_examples=10)
def test_identity_and_inverse(a):
    a, one = element(a), GROUP.identity()
    assert_same(compose(a, one), a)
    assert_same(compose(one, a), a)
    assert_same(compose(a, inverse(a)), one)
    assert_same(compose(inverse(a), a), one)
    assert_close(act(one, VARIABLES), VARIABLES)


@given(seeds)
@settings(max_examples=5)
def test_acting_keeps_the_function(seed):
    moved = act(element(seed), VARIABLES)
    np.testing.assert_allclose(network(moved, X), network(VARIABLES, X), rtol=1e-3, atol=1e-4)
    assert not np.allclose(moved["stats"]["mean"], VARIABLES["stats"]["mean"])


def test_many_at_once():
    drawn = trees.stack([element(seed) for seed in range(4)])
    moved = jax.jit(jax.vmap(GROUP.act, in_axes=(0, None)))(drawn, VARIABLES)
    for seed in range(4):
        assert_close(trees.index(moved, seed), act(element(seed), VARIABLES))


def test_an_element_compiles_to_one_index_and_one_factor_per_site():
    compiled = GROUP.compile(element(1))
    for path, sites in compiled.items():
        for axes, index, factor in sites:
            n = math.prod(SHAPES[path][axis] for axis in axes)
            assert index is None or sorted(index.tolist()) == list(range(n))
            assert factor is None or factor.shape == (n,)


@pytest.mark.parametrize("path", ["params/in", "params/bias", "stats/mean", "params/query", "params/head"])
def test_moving_one_parameter_alone_changes_the_function(path):
    """An element outside the group: one parameter is moved, the others stay."""
    moved = trees.flatten(act(element(3), VARIABLES))
    broken = trees.unflatten(trees.flatten(VARIABLES) | {path: moved[path]})
    assert not np.allclose(network(broken, X), network(VARIABLES, X), atol=1e-2)


def test_a_sign_or_scale_on_the_wrong_side_changes_the_function():
    variables = draw({"a": (3, 4), "b": (4, 2)})

    def apply(v, x):
        return jax.nn.relu(x @ v["a"]) @ v["b"]

    x = inputs(8, 3)
    for factor_a, factor_b in ((-1.0, -1.0), (2.0, 2.0)):
        moved = {"a": variables["a"] * factor_a, "b": variables["b"] * factor_b}
        assert not np.allclose(apply(moved, x), apply(variables, x), atol=1e-3)
    assert discover(apply, variables, x).sign_bits == 0


def test_check_sees_a_group_that_does_not_belong():
    """The group of a ReLU network is none of a network with another activation."""

    def apply(activation):
        return lambda v, x: activation(x @ v["a"]) @ v["b"]

    variables, x = draw({"a": (3, 4), "b": (4, 2)}), inputs(8, 3)
    group = discover(apply(jax.nn.relu), variables, x)
    assert group.check(apply(jax.nn.relu), variables, x) < 1e-12
    assert group.check(apply(jnp.tanh), variables, x) > 1e-2


def test_exact_numbers_of_transpositions():
    """Two kinds of permutation, one of them with a copy per head; the others stay in place."""
    plain = next(p for p in GROUP.permutations if not p.over and p.size > 2)
    within = next(p for p in GROUP.permutations if p.over)
    asked = {plain.name: 2, within.name: 1}
    drawn = jax.jit(lambda key: GROUP.random_element(key, transpositions=asked))(jax.random.key(1))
    counted = {name: int(number) for name, number in transpositions(drawn).items() if number}
    assert counted == {plain.name: 2, within.name: within.copies, "total": 2 + within.copies}


def test_transpositions_are_refused_where_there_are_none():
    with pytest.raises(ValueError, match="takes 0 to"):
        GROUP.random_element(jax.random.key(0), transpositions=100)
    with pytest.raises(ValueError, match="'nobody'"):
        GROUP.random_element(jax.random.key(0), transpositions={"nobody": 1})


def test_parts_of_an_element_can_be_left_out():
    drawn = GROUP.random_element(jax.random.key(0), permutations=False, signs=False, spread=0.0)
    assert_same(drawn, GROUP.identity())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda flat: flat.pop("params/in"), "'params/in'.*missing"),
        (lambda flat: flat.update({"params/in": jnp.ones((5, 13))}), r"'params/in' has shape \(5, 13\)"),
        (lambda flat: flat.update({"params/more": jnp.ones(2)}), "'params/more' is unknown"),
    ],
)
def test_parameters_of_another_network_are_named(change, message):
    flat = trees.flatten(VARIABLES)
    change(flat)
    with pytest.raises(ValueError, match=message):
        GROUP.act(GROUP.identity(), trees.unflatten(flat))


def test_printing_lists_members_and_what_was_pinned():
    text = str(GROUP)
    assert text.startswith(f"10^{GROUP.log10_permutations:.1f} permutations")
    for member in (*GROUP.permutations, *GROUP.signs, *GROUP.scales):
        assert member.name in text
    assert "params/head:1 (2): an axis of the output" in text
    assert "^-1" in text


def test_elements_are_pytrees():
    leaves, structure = jax.tree.flatten(element(0))
    assert dataclasses.asdict(jax.tree.unflatten(structure, leaves)).keys() == {
        "permutations",
        "signs",
        "log_scales",
    }
