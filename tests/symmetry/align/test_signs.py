"""Signs that units share, as of a whole residual stream, are found with the permutations."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes import trees
from symbayes.networks import transformer
from symbayes.symmetry import align
from symbayes.symmetry.align.ascent import Ascent
from symbayes.symmetry.align.assignment import best_signs
from symbayes.symmetry.align.starts import turned
from symbayes.symmetry.group.frame import Frame, Plan

from ..network_kinds import Kind
from ..symmetry_networks import draw, inputs, layer_norm
from .test_align import shaken, stacked

NOISES = [0.0] * 8 + [0.05] * 4
"""Of the planted copies; every value of the shared signs is planted in turn."""


def block(v, name, h):
    p = v[name]
    return h + jax.nn.gelu(layer_norm(h, p["scale"], p["bias"]) @ p["up"]) @ p["down"]


def block_shapes(name, width, hidden):
    sizes = {"scale": (width,), "bias": (width,), "up": (width, hidden), "down": (hidden, width)}
    return {f"{name}/{leaf}": size for leaf, size in sizes.items()}


def pre_norm():
    """A residual stream with four blocks: seven or more signs of each of its units, and one of them all."""

    def apply(v, x):
        h = x @ v["stem"]
        for k in range(4):
            h = block(v, f"block{k}", h)
        return layer_norm(h, v["scale"], v["bias"]) @ v["head"]

    shapes = {"stem": (3, 6), "scale": (6,), "bias": (6,), "head": (6, 2)}
    for k in range(4):
        shapes |= block_shapes(f"block{k}", 6, 5)
    return apply, shapes, inputs(8, 3)


def two_streams():
    """Two streams of different width; the second reads the first."""

    def apply(v, x):
        one = block(v, "one", x @ v["in1"])
        two = block(v, "two", jnp.tanh(layer_norm(one, v["s1"], v["b1"]) @ v["across"]) @ v["in2"])
        return layer_norm(two, v["s2"], v["b2"]) @ v["head"]

    shapes = {"in1": (3, 6), "s1": (6,), "b1": (6,), "across": (6, 4), "in2": (4, 5), "s2": (5,), "b2": (5,)}
    shapes |= {"head": (5, 2)} | block_shapes("one", 6, 4) | block_shapes("two", 5, 4)
    return apply, shapes, inputs(8, 3)


def outputs_apart():
    """A sign for every output, and units that are permuted within each."""

    def apply(v, x):
        h = jnp.einsum("bc,och->boh", x, v["up"])
        return jnp.einsum("boh,oh->bo", jax.nn.gelu(layer_norm(h, v["scale"], v["bias"])), v["down"])

    return apply, {"up": (3, 4, 5), "scale": (3, 5), "bias": (3, 5), "down": (3, 5)}, inputs(8, 4)


class Encoder(Kind):
    """The pre-norm transformer of `networks`."""

    def __init__(self):
        network = transformer(outputs=3, width=8, heads=2, layers=1, hidden=6)
        self.x = inputs(4, 5, 6)
        self.shapes = trees.shapes(network.init(jax.random.key(0), self.x))
        self.plain, self.apply = network.apply, jax.jit(network.apply)

    def draw(self, seed):
        found = draw(self.shapes, seed)
        return {"params": found["params"], "stats": {}}


class HandWritten(Kind):
    def __init__(self, made):
        self.plain, self.shapes, self.x = made
        self.apply = jax.jit(self.plain)


@functools.cache
def network_of(name):
    made = {"pre_norm": pre_norm, "two_streams": two_streams, "outputs_apart": outputs_apart}
    return Encoder() if name == "transformer" else HandWritten(made[name]())


NETWORKS = {"transformer": 1, "pre_norm": 1, "two_streams": 2, "outputs_apart": 3}
"""By name: how many signs belong to no single unit."""


def cut(plan, network, seed):
    return plan.cut({path: np.asarray(leaf) for path, leaf in trees.flatten(network.draw(seed)).items()})


@functools.cache
def planted(name, seed=0):
    """Copies of one network with some percent of noise; and the same, carried away by random elements."""
    network = network_of(name)
    group, lone = network.group, Plan(network.group).lone
    keys = jnp.stack([jax.random.key(1000 * seed + n) for n in range(len(NOISES))])
    elements = jax.jit(jax.vmap(lambda key: group.random_element(key, spread=0.3)))(keys)
    signs = {sign: np.array(leaf) for sign, leaf in elements.signs.items()}
    values = list(itertools.product((1, -1), repeat=len(lone)))
    for n, (at, (sign, k)) in itertools.product(range(len(NOISES)), enumerate(lone)):
        signs[sign][n, k] = values[n % len(values)][at]
    still = stacked([shaken(network.draw(seed), n, noise) for n, noise in enumerate(NOISES)])
    return still, jax.jit(jax.vmap(group.act))(dataclasses.replace(elements, signs=signs), still)


def assert_each_equal(found, wanted, atol):
    """Draw by draw, so that a failure says how many were missed."""
    found, wanted = trees.flatten(found), trees.flatten(wanted)
    off = np.max([np.max(np.abs(found[p] - wanted[p]).reshape(len(found[p]), -1), 1) for p in found], axis=0)
    assert not np.sum(off > atol), f"missed {np.flatnonzero(off > atol)} of {len(off)}"


@pytest.mark.parametrize("name", NETWORKS)
def test_planted_elements_are_recovered_in_both_signs(name):
    network = network_of(name)
    assert len(Plan(network.group).lone) == NETWORKS[name]
    still, moved = planted(name)
    wanted = align(still, network.group, to=network.draw(0))
    found = align(moved, network.group, to=network.draw(0))
    assert found.objective[1] == pytest.approx(wanted.objective[1], rel=1e-5)
    assert_each_equal(found.draws, wanted.draws, atol=1e-3)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_meet_jointly_in_both_signs(name):
    network = network_of(name)
    still, moved = (trees.index(draws, slice(8, 12)) for draws in planted(name))
    wanted, found = (align(draws, network.group) for draws in (still, moved))
    assert found.objective[-1] == pytest.approx(wanted.objective[-1], rel=1e-5)
    assert np.all(np.diff(found.objective) >= 0)
    for draws in (wanted.draws, found.draws):
        for leaf in jax.tree.leaves(draws):
            np.testing.assert_allclose(leaf, np.broadcast_to(leaf[:1], leaf.shape), rtol=0.5, atol=0.05)


@pytest.mark.parametrize("name", ["pre_norm", "two_streams", "outputs_apart"])
def test_no_step_lowers_the_objective_and_promises_are_kept(name):
    """Between unrelated networks: steps that flip a shared sign gain exactly what they promised, too."""
    network = network_of(name)
    plan = Plan(network.group)
    flipped = 0
    for seed in range(3):
        reference, arrays = (cut(plan, network, n) for n in (seed, seed + 100))
        ascent = Ascent(plan, reference, Frame.start(plan, arrays, plan.group.unmoved()))
        seen = [ascent.objective()]
        for step_name in [*plan.over, *plan.over]:
            step = ascent.propose(step_name)
            taken = ascent.take(step)
            flipped += taken and len(step.moves) > 1
            seen.append(ascent.objective())
            gained = seen[-1] - seen[-2]
            assert gained > 0 if taken else gained == 0
            if taken and step.moves <= plan.exact:
                assert gained == pytest.approx(step.gain, rel=1e-3, abs=1e-4)
        ascent.run()
        assert ascent.objective() >= seen[-1]
        assert turned(ascent).objective() >= ascent.objective()
    assert flipped


def test_indices_that_move_at_once_do_not_flip_a_shared_sign_twice(monkeypatch):
    """Both outer streams of a pair want the sign of the whole; whoever comes second looks again."""

    def apply(v, x):
        h = jnp.concatenate([x @ v["one"], x @ v["two"]], -1)
        h = (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-3)
        one, two = jnp.split(h * v["gain"], [4], -1)
        return jnp.tanh(one) @ v["out1"] + jax.nn.gelu(two) @ v["out2"]

    shapes = {"one": (3, 4), "two": (3, 5), "gain": (9,), "out1": (4, 2), "out2": (5, 2)}
    network = HandWritten((apply, shapes, inputs(8, 3)))
    plan = Plan(network.group)
    reference = cut(plan, network, 0)
    still = plan.group.unmoved()
    for seed in range(4):
        element = network.group.random_element(jax.random.key(seed), spread=0.0)
        signs = {name: np.array(leaf) for name, leaf in element.signs.items()}
        for sign, k in plan.lone:
            signs[sign][k] = -1
        frame = Frame.start(plan, reference, dataclasses.replace(still, signs=signs))
        ascent = Ascent(plan, reference, frame)
        seen = [ascent.objective()]
        monkeypatch.setattr(
            ascent, "do", lambda step, a=ascent, s=seen: (Ascent.do(a, step), s.append(a.objective()))
        )
        ascent.run()
        assert len(seen) > 1
        assert np.all(np.diff(seen) > 0)
        for ours, theirs in zip(ascent.frame.arrays, reference, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@given(st.integers(0, 2**31 - 1))
@settings(max_examples=6)
def test_signs_in_groups_are_the_best_of_all(seed):
    """Eight signs, some linked through terms, against all their values at every pair of units."""
    rng = np.random.default_rng(seed)
    names = "abcdefgh"
    drawn = [frozenset(rng.choice(list(names), rng.integers(0, 3), replace=False)) for _ in range(6)]
    grams = {pattern: rng.normal(size=(1, 2, 2)) for pattern in [*drawn, *map(frozenset, names)]}
    values, numbers = best_signs(grams, names)

    def value(signs):
        return sum(gram * np.prod([signs[name] for name in p]) for p, gram in grams.items())

    every = [dict(zip(names, signs, strict=True)) for signs in itertools.product((1, -1), repeat=8)]
    np.testing.assert_allclose(values, np.max([value(signs) for signs in every], axis=0))
    for at in np.ndindex(values.shape):
        chosen = {name: -1 if numbers[at] >> k & 1 else 1 for k, name in enumerate(names)}
        assert value(chosen)[at] == pytest.approx(values[at])
