"""Alignment by activations: correlations on data decide, weights where these say nothing."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes import trees
from symbayes.symmetry import Activations, Criterion, Weights, align, discover
from symbayes.symmetry.align.criteria.covariance import measured
from symbayes.symmetry.align.criteria.observe import observe

from ..network_kinds import KINDS, kind
from ..symmetry_networks import draw, inputs
from .test_align import planted, stacked

UNSEEN = {
    "abs": {"signs of 'l1'", "signs of 'l2'", "signs of 'l3'"},
    "residual_batch_norm": {"signs of 'c1'", "signs of 'c2'", "signs of 'c2#2'"},
    "group_norm": {"signs of 'in'"},
    "common_sign": {"signs of 'in'"},
    "scanned": {"order of 'layers#2'"},
}
"""Signs that act before a normaliser or an even function, and units inside a loop."""


@pytest.mark.parametrize(
    "name", [name for name in KINDS if name not in ("gelu", "recurrent_relu", "experts", "transformer")]
)
def test_what_was_planted_is_found_from_one_start(name):
    network = kind(name)
    raw = planted(network)
    by = Activations(network.plain, network.x, scale="unit-norm")
    found = align(raw, network.group, to=network.draw(0), by=by)
    wanted = trees.flatten(network.draw(0))
    for path, leaf in trees.flatten(found.draws).items():
        np.testing.assert_allclose(leaf, np.broadcast_to(wanted[path], leaf.shape), rtol=0.25, atol=0.1)
    before, after = (network.each(draws, network.x) for draws in (raw, found.draws))
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)
    assert found.objective[1] >= found.objective[0]
    said = {note.removeprefix("no activation shows the ").split(":")[0] for note in found.notes}
    assert said == UNSEEN.get(name, set())


@pytest.mark.parametrize("name", ["relu", "tanh", "attention", "residual_batch_norm"])
def test_activations_move_with_the_weights(name):
    """An element moves what is observed as it moves the parameters: compute, then move, or the reverse."""
    network = kind(name)
    example = {path: np.asarray(leaf) for path, leaf in trees.flatten(network.draw(1)).items()}
    seen = observe(network.plain, network.group, example, network.x)
    known = measured(seen, network.group, example)
    assert known.spots == seen.spots

    @jax.jit
    def both_ways(variables, inputs):
        element = network.group.random_element(jax.random.key(1), spread=0.0)
        first = known(trees.flatten(network.group.act(element, variables)), inputs)
        then = known(trees.flatten(variables), inputs)
        return first, {path: known.group.act_on(path, element, value) for path, value in then.items()}

    first, then = both_ways(network.draw(2), known.inputs)
    assert first.keys() == then.keys() == known.spots.keys()
    for path, value in then.items():
        np.testing.assert_allclose(value, first[path], rtol=1e-4, atol=1e-5)


def one_layer(activation):
    def apply(v, x):
        return activation(x @ v["w"] + v["b"]) @ v["out"]

    shapes = {"w": (3, 5), "b": (5,), "out": (5, 2)}
    return apply, shapes, discover(apply, draw(shapes), inputs(6, 3))


@pytest.mark.parametrize(("activation", "signed"), [(jax.nn.gelu, False), (jnp.tanh, True)])
def test_correlations_are_the_best_of_all_permutations(activation, signed):
    """Against all orders and signs of one hidden layer, with correlations by NumPy."""
    apply, shapes, group = one_layer(activation)
    x = np.asarray(inputs(40, 3))

    def hidden(v):
        return np.asarray(activation(x @ v["w"] + v["b"]))

    for seed in range(4):
        reference, network = draw(shapes, seed), draw(shapes, seed + 20)
        moved = trees.index(align(stacked([network]), group, reference, Activations(apply, x)).draws, 0)
        table = np.corrcoef(hidden(reference).T, hidden(network).T)[:5, 5:]
        table = np.abs(table) if signed else table
        best = max(table[np.arange(5), list(p)].sum() for p in itertools.permutations(range(5)))
        got = np.trace(np.corrcoef(hidden(reference).T, hidden(moved).T)[:5, 5:])
        assert got == pytest.approx(best, abs=0.1)
        np.testing.assert_allclose(apply(moved, x), apply(network, x), rtol=1e-4, atol=1e-5)


def test_jointly_networks_meet_and_the_objective_never_falls():
    network = kind("attention")
    by = Activations(network.plain, network.x)
    found = align(planted(network), network.group, by=by)
    assert np.all(np.diff(found.objective) >= 0)
    for leaf in jax.tree.leaves(found.draws):
        np.testing.assert_allclose(leaf[1:], np.broadcast_to(leaf[0], leaf[1:].shape), rtol=0.3, atol=0.1)
    again = align(planted(network), network.group, by=by)
    jax.tree.map(np.testing.assert_array_equal, found.elements, again.elements)


def test_units_that_are_constant_on_the_data_are_matched_by_weights():
    """ReLU units that no input wakes, or that read no input, have no correlation, yet find their place."""
    apply, shapes, group = one_layer(jax.nn.relu)
    x = np.asarray(inputs(40, 3))
    drawn = draw(shapes)
    reference = drawn | {"b": jnp.array([-50.0, -40.0, 0.1, 0.3, 0.2]), "w": drawn["w"].at[:, 3:].set(0.0)}
    element = group.random_element(jax.random.key(4))
    moved = jax.tree.map(lambda leaf: leaf[None], group.act(element, reference))
    found, _ = align(moved, group, reference, Activations(apply, x))
    for path, leaf in trees.flatten(found).items():
        np.testing.assert_allclose(leaf[0], reference[path], rtol=1e-4, atol=1e-6)


def test_bad_input_is_refused():
    network = kind("gelu")
    raw = stacked([network.draw(n) for n in range(2)])
    calls = itertools.count()

    def impure(v, x):
        return network.plain(v, x) * (1 + next(calls))

    def another(v, x):
        return network.plain(v, x) + v["params"]["l2"]["kernel"][0, 0]

    with pytest.raises(ValueError, match="apply is not pure"):
        align(raw, network.group, by=Activations(impure, network.x))
    with pytest.raises(ValueError, match=r"parameter 'params/.*' moves otherwise in apply"):
        align(raw, network.group, by=Activations(another, network.x))
    with pytest.raises(ValueError, match="scale is"):
        Activations(network.plain, network.x, scale="norm")


def test_all_criteria_are_criteria():
    assert isinstance(Weights(), Criterion)
    assert isinstance(Activations(lambda v, x: x, 0), Criterion)
    assert not isinstance("weights", Criterion)
    network = kind("gelu")
    with pytest.raises(TypeError):
        align(planted(network), network.group, by="weights")


def test_a_network_without_statistics_finds_the_key_for_them():
    def apply(v, x):
        assert v["stats"] == {}
        return jax.nn.relu(x @ v["params"]["a"]) @ v["params"]["b"]

    variables = {"params": draw({"a": (3, 4), "b": (4, 2)}), "stats": {}}
    group = discover(apply, variables, inputs(8, 3))
    draws = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf[::-1]]), variables)
    found = align(draws, group, to=variables, by=Activations(apply, inputs(8, 3)))
    assert found.elements.permutations["a"].shape == (2, 1, 4)
