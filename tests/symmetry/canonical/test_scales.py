"""The scales at which networks are compared."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes import trees
from symbayes.symmetry.canonical.scales import log_scales, log_scales_of_all, log_scales_of_one, require_scale
from symbayes.symmetry.group.frame import Frame, Plan
from symbayes.symmetry.group.stack import Stack

from ..network_kinds import kind

NETWORK = kind("relu")


def flat(tree):
    return {path: np.asarray(leaf) for path, leaf in trees.flatten(tree).items()}


@pytest.mark.parametrize("scale", ["minimal-mass", "unit-norm", None])
def test_one_network_a_batch_and_all_draws_get_the_same(scale):
    batch = trees.stack([NETWORK.draw(seed) for seed in range(3)])
    found = log_scales(scale, NETWORK.group, flat(batch))
    assert set(found) == {member.name for member in NETWORK.group.scales}
    everything = log_scales_of_all(scale, Stack.of(batch, NETWORK.group))
    for name, logs in found.items():
        assert (scale is None) == (not logs.any())
        np.testing.assert_allclose(everything[name], logs, rtol=1e-6)
        for k in range(3):
            one = log_scales_of_one(scale, NETWORK.group, flat(NETWORK.draw(k)))
            np.testing.assert_allclose(one[name], logs[k], rtol=1e-6)


def test_scales_of_a_reference_are_undone_place_by_place():
    """There and back: the element that leads to some scales, without these, leads nowhere."""
    network, group = flat(NETWORK.draw(0)), NETWORK.group
    logs = group.random_element(jax.random.key(1)).log_scales
    element = Frame.at_scales(Plan(group), network, jax.tree.map(np.asarray, logs)).element()
    left = jax.tree.map(jnp.asarray, element.without_scales(logs))
    moved = trees.flatten(group.act(left, trees.unflatten(network)))
    for path, leaf in network.items():
        np.testing.assert_allclose(moved[path], leaf, rtol=1e-6)


def test_another_form_is_refused():
    with pytest.raises(ValueError, match="scale is 'minimal-mass', 'unit-norm' or None, not 'max'"):
        require_scale("max")
