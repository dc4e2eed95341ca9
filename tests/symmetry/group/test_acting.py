"""Many networks moved at once: the same as each by itself, whichever way it is done."""

import jax
import numpy as np
import pytest

from symbayes import trees
from symbayes.symmetry.group import group as group_module
from symbayes.symmetry.group.acting import act_rows, in_place

from ..network_kinds import KINDS, kind

COUNT = 3


@pytest.mark.parametrize("name", KINDS)
def test_network_by_network_or_all_at_once(name, monkeypatch):
    """All ways of moving many networks agree, on every parameter that moves."""
    network = kind(name)
    draws = trees.stack([network.draw(n) for n in range(COUNT)])
    keys = jax.random.split(jax.random.key(1), COUNT)
    elements = jax.jit(jax.vmap(network.group.random_element))(keys)
    program = jax.jit(jax.vmap(network.group.act))(elements, draws)
    for large in (0, 2**62):
        monkeypatch.setattr(group_module, "LARGE", large)
        for path, leaves in trees.flatten(draws).items():
            if network.group.sites[path]:
                moved = network.group.act_each(path, elements, np.asarray(leaves))
                np.testing.assert_allclose(moved, trees.flatten(program)[path], rtol=1e-5, atol=1e-7)


def test_moves_follow_one_another():
    """Three groups of axes, one of two axes, with and without index and factor; the input is left alone."""
    rng = np.random.default_rng(0)
    leaves = rng.normal(size=(5, 3, 4, 2, 6))
    before = leaves.copy()
    rows = np.stack([rng.permutation(3) for _ in range(5)])
    pairs = np.stack([rng.permutation(8) for _ in range(5)])
    factor = rng.normal(size=(5, 8))
    last = rng.normal(size=(5, 6))
    moved = act_rows(leaves, [((0,), rows, None), ((1, 2), pairs, factor), ((3,), None, last)])
    for n in range(5):
        expected = leaves[n][rows[n]].reshape(3, 8, 6)[:, pairs[n]] * factor[n][:, None] * last[n]
        np.testing.assert_allclose(moved[n], expected.reshape(3, 4, 2, 6), rtol=1e-12)
    np.testing.assert_array_equal(leaves, before)


def test_only_neighbouring_axes_are_seen_as_one():
    assert in_place((1,))
    assert in_place((0, 1, 2))
    assert not in_place((0, 2))
    assert not in_place(())
