"""Alignment to a reference: what was planted is found, functions stay, bad input is refused."""

from functools import cache

import jax
import numpy as np
import pytest

from symbayes import trees
from symbayes.draws import Draws
from symbayes.draws.draws import MemorySegment
from symbayes.symmetry import Weights, align, transpositions

from ..network_kinds import KINDS, kind

DRAWS = 3


def stacked(networks):
    return jax.tree.map(lambda *leaves: np.stack(leaves), *networks)


def shaken(variables, seed, size=0.02):
    """Variables with every number changed by a few percent."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: np.asarray(leaf) * (1 + size * rng.normal(size=leaf.shape).astype(np.float32)), variables
    )


@cache
def planted(network, moved=True):
    """Copies of one network, shaken and carried away by random elements."""
    copies = stacked([shaken(network.draw(0), seed) for seed in range(DRAWS)])
    if not moved:
        return copies
    keys = jax.numpy.stack([jax.random.key(n) for n in range(DRAWS)])
    group = network.group
    move = jax.jit(jax.vmap(lambda key, copy: group.act(group.random_element(key), copy)))
    return jax.tree.map(np.asarray, move(keys, copies))


def inner(a, b):
    """The inner product over parameters, without statistics."""
    b = trees.flatten(b)
    return sum(
        float(np.sum(np.asarray(leaf, np.float64) * np.asarray(b[path], np.float64)))
        for path, leaf in trees.flatten(a).items()
        if not path.startswith("stats/")
    )


@pytest.mark.parametrize("name", KINDS)
def test_what_was_planted_is_found_and_functions_stay(name):
    network = kind(name)
    raw = planted(network)
    found = align(raw, network.group, to=network.draw(0), restarts=6)
    there = align(planted(network, moved=False), network.group, to=network.draw(0))
    assert found.objective[1] >= there.objective[0] * (1 - 1e-5)
    before, after = (network.each(draws, network.x) for draws in (raw, found.draws))
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)
    acted = jax.jit(jax.vmap(network.group.act))(found.elements, raw)
    for path, leaf in trees.flatten(acted).items():
        np.testing.assert_allclose(leaf, trees.flatten(found.draws)[path], rtol=1e-5, atol=1e-6)


def test_scales_of_the_reference_are_taken():
    """Not only in the same order: the aligned weights are those of the reference, up to what was shaken."""
    network = kind("relu")
    aligned, _ = align(planted(network), network.group, to=network.draw(0), restarts=6)
    for path, leaf in trees.flatten(aligned).items():
        wanted = trees.flatten(network.draw(0))[path]
        np.testing.assert_allclose(leaf, np.broadcast_to(wanted, leaf.shape), rtol=0.25, atol=1e-3)


def test_objective_is_the_inner_product_where_nothing_scales():
    network = kind("gelu")
    raw, reference = stacked([network.draw(n) for n in (1, 2)]), network.draw(0)
    found = align(raw, network.group, to=reference)
    for draws, objective in zip((raw, found.draws), found.objective, strict=True):
        total = sum(inner(trees.index(draws, n), reference) for n in range(2))
        assert objective == pytest.approx(total, rel=1e-5)
    assert found.objective[1] > found.objective[0]


@pytest.mark.parametrize("name", ["gelu", "attention", "recurrent_tanh"])
def test_aligned_draws_stay(name):
    network = kind(name)
    by = Weights(scale=None)
    once, _ = align(planted(network), network.group, to=network.draw(0), by=by)
    again = align(once, network.group, to=network.draw(0), by=by)
    assert not np.any(transpositions(again.elements)["total"])
    assert again.objective[0] == again.objective[1]


def test_draws_keep_their_chains_and_statistics():
    network = kind("tanh")
    raw = planted(network)
    energy = np.arange(6.0).reshape(2, 3)
    twice = jax.tree.map(lambda leaf: np.stack([leaf, leaf[::-1]]), raw)
    draws = Draws.from_variables(twice, {"energy": energy})
    aligned, elements = align(draws, network.group, to=network.draw(0))
    flat, _ = align(raw, network.group, to=network.draw(0))
    assert isinstance(aligned, Draws)
    np.testing.assert_array_equal(aligned.stats["energy"], energy)
    assert all(leaf.shape[:2] == (2, 3) for leaf in jax.tree.leaves(elements))
    for path, leaf in trees.flatten(aligned.variables).items():
        np.testing.assert_array_equal(leaf[0], trees.flatten(flat)[path])
        np.testing.assert_array_equal(leaf[1, ::-1], leaf[0])


class OnDisk:
    """A segment that is not in memory, as a shard of a run."""

    def __init__(self, draws: Draws):
        (self.held,) = draws.segments
        self.draws = self.held.draws

    def shapes(self):
        return self.held.shapes()

    def read(self, name, draws, rows=slice(None)):
        return self.held.read(name, draws, rows)


@pytest.mark.parametrize("to", ["joint", "reference"])
def test_draws_on_disk_are_moved_when_read(to):
    network = kind("tanh")
    draws = Draws.from_variables(jax.tree.map(lambda leaf: leaf[None], planted(network)))
    disk = Draws([OnDisk(draws), OnDisk(draws.select(draws=[1, 0]))])
    target = to if to == "joint" else network.draw(0)
    aligned, _ = align(disk, network.group, to=target)
    memory, _ = align(disk.select(), network.group, to=target)
    assert not any(isinstance(segment, MemorySegment) for segment in aligned.segments)
    for path, leaf in trees.flatten(memory.variables).items():
        np.testing.assert_array_equal(leaf, trees.flatten(aligned.variables)[path])
    for name, rows, array in aligned.columns(max_bytes=64):
        np.testing.assert_array_equal(array, trees.flatten(memory.variables)[name][:, :, rows])


def test_the_mean_of_draws_as_reference():
    network = kind("gelu")
    raw = planted(network)
    mean = jax.tree.map(lambda leaf: leaf.mean(0), raw)
    a, _ = align(raw, network.group, to=Draws.from_variables(jax.tree.map(lambda leaf: leaf[None], raw)))
    b, _ = align(raw, network.group, to=mean)
    for path, leaf in trees.flatten(a).items():
        np.testing.assert_array_equal(leaf, trees.flatten(b)[path])


def test_same_seed_same_answer():
    network = kind("attention")
    raw = stacked([network.draw(n) for n in (1, 2, 3)])
    one, two = (align(raw, network.group, to=network.draw(0), restarts=3, seed=5) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, one.elements, two.elements)
    np.testing.assert_array_equal(one.objective, two.objective)


def test_more_starts_are_never_worse():
    network = kind("tanh")
    raw = stacked([network.draw(n) for n in (1, 2, 3)])
    found = [align(raw, network.group, to=network.draw(0), restarts=n).objective[1] for n in (1, 2, 4)]
    assert found == sorted(found)


def change(tree, path, value):
    return trees.unflatten(trees.flatten(tree) | {path: value})


def test_bad_input_is_named():
    network = kind("gelu")
    raw, path = planted(network), "params/l2/kernel"
    kernel = trees.flatten(raw)[path].copy()
    kernel[1, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"'params/l2/kernel' of draw 1 is not finite"):
        align(change(raw, path, kernel), network.group)
    with pytest.raises(ValueError, match=r"'params/l2/kernel' has shape \(4, 8\)"):
        align(raw, network.group, to=change(network.draw(0), path, np.ones((4, 8))))
    with pytest.raises(ValueError, match=r"'params/l2/kernel' of the reference is not finite"):
        align(raw, network.group, to=change(network.draw(0), path, np.full((9, 8), np.inf)))
    with pytest.raises(ValueError, match=r"'params/l2/kernel' has shape \(9, 7\)"):
        align(change(raw, path, kernel[:, :, 1:]), network.group)
    with pytest.raises(ValueError, match="one common axis over draws"):
        align(change(raw, path, kernel[1:]), network.group)
    with pytest.raises(ValueError, match="to is 'joint'"):
        align(raw, network.group, to="all")
    with pytest.raises(ValueError, match="at least 1"):
        align(raw, network.group, restarts=0)
    with pytest.raises(ValueError, match="scale is"):
        Weights(scale="norm")
