"""Variables without running statistics keep their empty branch through everything that moves them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes.draws import Draws
from symbayes.symmetry import (
    StraightThrough,
    align,
    canonical,
    discover,
    match_gaussians,
    minimal_mass,
)

from ..symmetry_networks import draw, inputs


def apply(v, x):
    assert v["stats"] == {}
    p = v["params"]
    return jax.nn.relu(x @ p["a"] + p["b"]) @ p["c"]


def variables(seed):
    return draw({"params/a": (2, 3), "params/b": (3,), "params/c": (3, 1)}, seed) | {"stats": {}}


@pytest.fixture(scope="module")
def group():
    return discover(lambda v, x: apply(v | {"stats": {}}, x), variables(0), inputs(8, 2))


def some(*lead):
    made = jax.tree.map(lambda *leaves: np.stack(leaves), *(variables(n) for n in range(3)))
    return jax.tree.map(lambda leaf: leaf.reshape(*lead, *leaf.shape[1:]), made)


def test_moving_keeps_the_structure(group):
    element = group.random_element(jax.random.key(0))
    for move in (group.act, jax.jit(group.act)):
        moved = move(element, variables(0))
        assert jax.tree.structure(moved) == jax.tree.structure(variables(0))
        np.testing.assert_allclose(
            apply(moved, inputs(8, 2)), apply(variables(0), inputs(8, 2)), rtol=1e-5, atol=1e-6
        )
    elements = jax.vmap(group.random_element)(jax.random.split(jax.random.key(1), 3))
    assert jax.tree.structure(jax.vmap(group.act)(elements, some(3))) == jax.tree.structure(some(3))


MOVERS = {
    "align": lambda draws, group: align(draws, group).draws,
    "to": lambda draws, group: align(draws, group, to=variables(1)).draws,
    "straight-through": lambda draws, group: (
        align(
            draws,
            group,
            to=variables(1),
            by=StraightThrough(lambda v: jnp.mean(apply(v, inputs(8, 2)) ** 2), steps=2),
        ).draws
    ),
    "control": lambda draws, group: align(draws, group, control=True).control.draws,
    "canonical": canonical,
    "minimal_mass": lambda draws, group: minimal_mass(draws, group).draws,
}


@pytest.mark.parametrize("name", MOVERS)
def test_what_comes_back_has_the_structure_that_went_in(group, name):
    tree = MOVERS[name](some(3), group)
    assert jax.tree.structure(tree) == jax.tree.structure(some(3))
    draws = MOVERS[name](Draws.from_variables(some(1, 3)), group)
    assert jax.tree.structure(draws.variables) == jax.tree.structure(some(3))


def test_gaussians_keep_the_structure(group):
    spread = jax.tree.map(jnp.abs, variables(2))
    found = match_gaussians(variables(0), spread, variables(1), spread, group)
    for tree in (found.mean, found.deviation):
        assert jax.tree.structure(tree) == jax.tree.structure(variables(0))
