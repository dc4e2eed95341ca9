"""Matching Gaussians by means and deviations, against all elements of small groups."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes import trees
from symbayes.symmetry import discover, match_gaussians
from symbayes.symmetry.group.element import Element

from ..network_kinds import kind
from ..symmetry_networks import draw, inputs


def two_layers(activation):
    def apply(v, x):
        return activation(activation(x @ v["w"] + v["b"]) @ v["u"]) @ v["out"]

    shapes = {"w": (2, 3), "b": (3,), "u": (3, 3), "out": (3, 2)}
    return discover(apply, draw(shapes), inputs(6, 2)), shapes


def gaussian(shapes, seed):
    """A mean and deviations that differ from weight to weight."""
    return draw(shapes, seed), jax.tree.map(lambda leaf: jnp.exp(2 * leaf), draw(shapes, seed + 100))


def squared_distance(a, b, lead=0):
    """Between Gaussians as pairs of mean and deviation; one for each entry of the first's leading axes."""
    return sum(
        np.square(np.asarray(x, np.float64) - np.asarray(y)).sum(tuple(range(lead, x.ndim)))
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


def every_element(group):
    """All orders and signs, as one batch."""
    orders = [list(itertools.permutations(range(p.size))) for p in group.permutations]
    signs = [list(itertools.product((1, -1), repeat=s.size)) for s in group.signs]
    every = list(zip(*itertools.product(*orders, *signs), strict=True))
    rows, flips = every[: len(orders)], every[len(orders) :]
    return Element(
        {p.name: jnp.array(row)[:, None] for p, row in zip(group.permutations, rows, strict=True)},
        {s.name: jnp.array(flip, jnp.int8) for s, flip in zip(group.signs, flips, strict=True)},
        {},
    )


@pytest.mark.parametrize(("activation", "count"), [(jax.nn.gelu, 36), (jnp.tanh, 2304)])
def test_the_distance_is_the_smallest_of_all_elements(activation, count):
    """Every order and sign of two layers of three units."""
    group, shapes = two_layers(activation)
    every = every_element(group)
    assert {len(leaf) for leaf in jax.tree.leaves(every)} == {count}
    positive = Element(every.permutations, jax.tree.map(jnp.abs, every.signs), {})
    act = jax.jit(jax.vmap(group.act, in_axes=(0, None)))
    for seed in range(4):
        ours, theirs = gaussian(shapes, seed), gaussian(shapes, seed + 50)
        found = match_gaussians(*ours, *theirs, group, restarts=12)
        moved = act(every, ours[0]), act(positive, ours[1])
        best = squared_distance(moved, theirs, lead=1).min()
        before, after = found.squared_distance
        assert after == pytest.approx(best, rel=1e-5)
        assert before == pytest.approx(squared_distance(ours, theirs), rel=1e-5)
        assert after == pytest.approx(squared_distance((found.mean, found.deviation), theirs), rel=1e-5)


def test_deviations_tell_units_apart_where_means_do_not():
    group, shapes = two_layers(jax.nn.gelu)
    mean = jax.tree.map(jnp.zeros_like, draw(shapes))
    _, deviation = gaussian(shapes, 1)
    element = group.random_element(jax.random.key(3))
    found = match_gaussians(mean, group.act(element, deviation), mean, deviation, group, restarts=6)
    assert found.squared_distance[1] == pytest.approx(0.0, abs=1e-9)
    jax.tree.map(np.testing.assert_array_equal, found.deviation, deviation)


@pytest.mark.parametrize("name", ["relu", "attention", "residual_batch_norm"])
def test_a_planted_element_is_undone(name):
    """Scales act on both, signs on the means, running statistics follow."""
    network = kind(name)
    group, mean = network.group, network.draw(0)
    deviation = jax.tree.map(lambda leaf: 0.1 + jnp.abs(leaf), network.draw(1))
    element = group.random_element(jax.random.key(2))
    positive = Element(element.permutations, jax.tree.map(jnp.abs, element.signs), element.log_scales)
    only = {path: leaf for path, leaf in deviation.items() if path != "stats"}
    moved = group.act(element, mean), group.act(positive, deviation)
    found = match_gaussians(*moved, mean, only, group, scale="unit-norm", restarts=6)
    for path, leaf in trees.flatten(found.mean).items():
        np.testing.assert_allclose(leaf, trees.flatten(mean)[path], rtol=1e-3, atol=1e-5)
    for path, leaf in trees.flatten(only).items():
        np.testing.assert_allclose(trees.flatten(found.deviation)[path], leaf, rtol=1e-3, atol=1e-5)


def test_bad_input_is_named():
    group, shapes = two_layers(jax.nn.gelu)
    mean, deviation = gaussian(shapes, 0)
    with pytest.raises(ValueError, match="parameter 'u' of the Gaussian has a negative deviation"):
        match_gaussians(mean, deviation | {"u": -deviation["u"]}, mean, deviation, group)
    with pytest.raises(ValueError, match="parameter 'b' of the reference is not finite"):
        match_gaussians(mean, deviation, mean | {"b": jnp.full(3, jnp.nan)}, deviation, group)
    with pytest.raises(ValueError, match="parameter 'out', which this group moves, is missing"):
        match_gaussians(mean, {k: v for k, v in deviation.items() if k != "out"}, mean, deviation, group)
    with pytest.raises(ValueError, match="at least 1"):
        match_gaussians(mean, deviation, mean, deviation, group, restarts=0)
