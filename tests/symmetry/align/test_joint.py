"""Joint alignment: the all-pairs objective rises, beats a reference, and noise is no evidence."""

from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

from symbayes import trees
from symbayes.symmetry import Weights, align
from symbayes.symmetry.align.ascent import Ascent
from symbayes.symmetry.align.joint import _JointClimb
from symbayes.symmetry.group.frame import Frame, Plan
from symbayes.symmetry.group.stack import Elements, Stack

from ..network_kinds import kind
from .test_align import inner, planted, stacked


def all_pairs(draws):
    """``sum_{i<j} <w_i, w_j>``, pair by pair."""
    count = len(jax.tree.leaves(draws)[0])
    return sum(inner(trees.index(draws, i), trees.index(draws, j)) for j in range(count) for i in range(j))


def trained_like(network, count, seed, noise=0.3):
    """Networks that share a structure, each in its own order, with noise."""
    rng = np.random.default_rng(seed)
    base = network.draw(seed)
    act = jax.jit(network.group.act)
    made = []
    for n in range(count):
        noisy = jax.tree.map(
            lambda leaf: np.asarray(leaf + noise * rng.normal(size=leaf.shape), np.float32), base
        )
        element = network.group.random_element(jax.random.key(100 * seed + n), spread=0.0)
        made.append(jax.tree.map(np.asarray, act(element, noisy)))
    return stacked(made)


@pytest.mark.parametrize("name", ["gelu", "tanh", "attention", "recurrent_tanh", "residual_batch_norm"])
def test_the_objective_never_falls_and_is_that_of_all_pairs(name):
    network = kind(name)
    raw = stacked([network.draw(n) for n in range(5)])
    found = align(raw, network.group, by=Weights(scale=None))
    assert np.all(np.diff(found.objective) >= 0)
    assert found.objective[0] == pytest.approx(all_pairs(raw), rel=1e-4, abs=1e-3)
    assert found.objective[-1] == pytest.approx(all_pairs(found.draws), rel=1e-4)


def test_joint_beats_a_reference():
    """On every set of networks the joint objective is at least that of aligning to the first network."""
    network = kind("gelu")
    better = 0
    for seed in range(5):
        raw = trained_like(network, 6, seed)
        joint = all_pairs(align(raw, network.group).draws)
        single = all_pairs(align(raw, network.group, to=trees.index(raw, 0)).draws)
        assert joint >= single * (1 - 1e-6)
        better += joint > single * (1 + 1e-3)
    assert better >= 2


def test_planted_draws_meet_and_agree_around_cycles():
    """Networks that are one and the same end at one place, so carrying i to j to k is carrying i to k."""
    network = kind("relu")
    aligned, elements = align(planted(network), network.group, restarts=4)
    for leaf in jax.tree.leaves(aligned):
        np.testing.assert_allclose(leaf[1:], np.broadcast_to(leaf[0], leaf[1:].shape), rtol=0.3, atol=0.02)
    group = network.group

    def carry(i, j):
        return group.compose(group.inverse(trees.index(elements, j)), trees.index(elements, i))

    around = group.compose(carry(1, 2), carry(0, 1))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), around, carry(0, 2))


def test_matching_all_at_once_to_the_others_may_fall_where_one_by_one_does_not():
    """The simultaneous step lowers the joint objective from some start; alignment never does."""
    network = kind("gelu")
    plan = Plan(network.group)
    fell = 0
    for seed in range(8):
        raw = stacked([network.draw(10 * seed + n) for n in range(3)])
        cuts = [plan.cut(trees.flatten(trees.index(raw, n))) for n in range(3)]
        frames = [Frame.start(plan, cut, plan.group.unmoved()) for cut in cuts]
        values = []
        for _ in range(6):
            total = [sum(arrays) for arrays in zip(*(frame.arrays for frame in frames), strict=True)]
            squares = sum(float(np.sum(np.square(a))) for frame in frames for a in frame.arrays)
            values.append((sum(float(np.sum(np.square(t))) for t in total) - squares) / 2)
            for frame in frames:
                rest = [t - a for t, a in zip(total, frame.arrays, strict=True)]
                Ascent(plan, rest, frame).run()
        fell += bool(np.any(np.diff(values) < -1e-3))
        assert np.all(np.diff(align(raw, network.group).objective) >= 0)
    assert fell


def test_noise_is_lifted_too():
    """Alignment of pure noise shrinks its spread and lifts its mean: the control shows by how much."""
    network = kind("gelu")
    rng = np.random.default_rng(0)
    noise = trees.map_named(
        lambda _, leaf: rng.normal(size=(24, *leaf.shape)).astype(np.float32), network.draw(0)
    )
    found = align(trained_like(network, 24, 1), network.group, control=noise)
    kernel = "params/l2/kernel"
    raw, aligned = trees.flatten(noise)[kernel], trees.flatten(found.control.draws)[kernel]
    assert np.mean(aligned.mean(0) ** 2) > 3 * np.mean(raw.mean(0) ** 2)
    assert np.mean(aligned.std(0)) < 0.97 * np.mean(raw.std(0))
    alone = align(noise, network.group)
    np.testing.assert_array_equal(found.control.objective, alone.objective)
    assert found.control.control is None


@pytest.mark.parametrize("restarts", [1, 3])
def test_restarts_are_deterministic_and_never_worse(restarts):
    network = kind("tanh")
    raw = trained_like(network, 5, 2)
    one, two = (align(raw, network.group, restarts=restarts, seed=3) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, one.elements, two.elements)
    assert one.objective[-1] >= align(raw, network.group).objective[-1]


def test_a_single_draw_stays_in_place():
    network = kind("gelu")
    raw = stacked([network.draw(3)])
    aligned, _ = align(raw, network.group)
    jax.tree.map(np.testing.assert_array_equal, aligned, raw)


def test_networks_that_move_at_once_never_lose(monkeypatch):
    """All in one wave, some would exchange places for ever: those that no longer gain stay."""
    network = kind("gelu")
    plan = Plan(network.group)
    stayed = 0
    gain = _JointClimb.gain

    def counted(climb, old, new):
        nonlocal stayed
        before, found = climb.objective(), gain(climb, old, new)
        stayed += found <= 0
        climb.subtract(old)
        climb.add(new)
        assert climb.objective() - before == pytest.approx(found, rel=1e-3, abs=1e-4 * abs(before))
        climb.subtract(new)
        climb.add(old)
        return found

    monkeypatch.setattr(_JointClimb, "gain", counted)
    for seed in range(8):
        stack = Stack.of(stacked([network.draw(10 * seed + n) for n in range(3)]), network.group)
        with ThreadPoolExecutor() as threads:
            climb = _JointClimb(stack, plan, Elements(stack), threads, None)
            everyone = [one for wave in climb.waves() for one in wave]
            seen = [climb.objective()]
            for _ in range(6):
                climb.advance(everyone)
                seen.append(climb.objective())
        assert np.all(np.diff(seen) >= -1e-6 * np.abs(seen[:-1]))
        moved = stack.moved(climb.elements.batch())
        assert seen[-1] == pytest.approx(all_pairs(moved), rel=1e-4)
    assert stayed


def test_many_networks_move_in_waves():
    """More networks than waves: still the objective never falls, and the same again for the same seed."""
    network = kind("gelu")
    raw = trained_like(network, 17, 4)
    one, two = (align(raw, network.group) for _ in range(2))
    assert np.all(np.diff(one.objective) >= 0)
    assert one.objective[-1] == pytest.approx(all_pairs(one.draws), rel=1e-4)
    jax.tree.map(np.testing.assert_array_equal, one.elements, two.elements)


def test_networks_of_a_wave_see_the_same_sum():
    """However threads take turns: one that climbs late must not see what others of its wave have moved."""
    network = kind("gelu")
    stack = Stack.of(stacked([network.draw(n) for n in range(4)]), network.group)

    class OneByOne(ThreadPoolExecutor):
        """Does a piece of work when its result is asked for, as the slowest of threads would."""

        def map(self, fn, *iterables, **_):
            return map(fn, *iterables)

    found = []
    for executor in (ThreadPoolExecutor, OneByOne):
        with executor() as threads:
            climb = _JointClimb(stack, Plan(network.group), Elements(stack), threads, None)
            everyone = [one for wave in climb.waves() for one in wave]
            for _ in range(3):
                climb.advance(everyone)
            found.append(climb.elements.batch())
    jax.tree.map(np.testing.assert_array_equal, *found)
