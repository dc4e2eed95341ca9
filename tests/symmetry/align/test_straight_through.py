"""Alignment by the loss at the midpoint: never above weight matching, and below it where that fails."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes import trees
from symbayes.symmetry import Criterion, StraightThrough, Weights, align

from ..network_kinds import kind
from .test_align import planted, stacked


def distance(network):
    """How far a network's outputs are from those of the reference."""
    wanted = network.plain(network.draw(0), network.x)
    return lambda variables: jnp.mean(jnp.square(network.plain(variables, network.x) - wanted))


def halfway(loss, a, b):
    return float(loss(jax.tree.map(lambda one, two: (one + two) / 2, a, b)))


def mean_loss(loss, draws, reference):
    count = len(jax.tree.leaves(draws)[0])
    return np.mean([halfway(loss, trees.index(draws, n), reference) for n in range(count)])


def rest(draws, n):
    return jax.tree.map(lambda leaf: np.delete(leaf, n, 0).mean(0), draws)


def joint_loss(loss, draws):
    count = len(jax.tree.leaves(draws)[0])
    return np.mean([halfway(loss, trees.index(draws, n), rest(draws, n)) for n in range(count)])


@pytest.mark.parametrize("name", ["tanh", "grouped_convolution", "residual_batch_norm", "attention"])
def test_planted_networks_lie_half_way_in_the_same_valley(name):
    """Signs of a tanh, a flattened convolution, a residual stream, heads: no barrier is left."""
    network = kind(name)
    loss = jax.jit(distance(network))
    raw, reference = planted(network), network.draw(0)
    by = StraightThrough(distance(network), steps=4, scale="unit-norm")
    found = align(raw, network.group, to=reference, by=by, restarts=4)
    assert found.objective[1] == pytest.approx(-mean_loss(loss, found.draws, reference), rel=1e-2, abs=1e-6)
    assert -found.objective[1] <= 0.05 * -found.objective[0]
    for n in range(3):
        ends = [float(loss(trees.index(draws, n))) for draws in (raw, found.draws)]
        assert ends[1] == pytest.approx(ends[0], rel=1e-3, abs=1e-6)
        assert halfway(loss, trees.index(found.draws, n), reference) <= ends[1] + 1e-6


def test_it_is_never_above_weights_and_often_below():
    network = kind("tanh")
    loss, reference = jax.jit(distance(network)), network.draw(0)
    raw = stacked([network.draw(n) for n in range(1, 5)])
    by = StraightThrough(distance(network), steps=20)
    one, two = (align(raw, network.group, to=reference, by=by) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, one.elements, two.elements)
    matched = align(raw, network.group, to=reference).draws
    for n in range(4):
        ours, theirs = (halfway(loss, trees.index(draws, n), reference) for draws in (one.draws, matched))
        assert ours <= theirs * (1 + 1e-4)
    assert mean_loss(loss, one.draws, reference) < 0.8 * mean_loss(loss, matched, reference)
    assert one.objective[0] == pytest.approx(-mean_loss(loss, raw, reference), rel=1e-4)
    assert one.objective[1] == pytest.approx(-mean_loss(loss, one.draws, reference), rel=1e-4)


def test_jointly_the_midpoints_to_the_mean_of_the_others_fall():
    network = kind("tanh")
    loss = jax.jit(distance(network))
    raw = stacked([network.draw(n) for n in range(1, 5)])
    found = align(raw, network.group, by=StraightThrough(distance(network), steps=10))
    assert np.all(np.diff(found.objective) >= 0)
    assert found.objective[0] == pytest.approx(-joint_loss(loss, raw), rel=1e-4)
    assert found.objective[-1] == pytest.approx(-joint_loss(loss, found.draws), rel=1e-4)
    assert -found.objective[-1] < joint_loss(loss, align(raw, network.group).draws)
    for n in range(4):
        before, after = (network.apply(trees.index(draws, n), network.x) for draws in (raw, found.draws))
        np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)


def test_a_single_draw_has_no_others():
    network = kind("tanh")
    raw = stacked([network.draw(3)])
    aligned, _ = align(raw, network.group, by=StraightThrough(distance(network), steps=1))
    jax.tree.map(np.testing.assert_array_equal, aligned, raw)


def test_bad_input_is_refused():
    network = kind("tanh")
    raw = planted(network)
    assert isinstance(StraightThrough(distance(network)), Criterion)
    with pytest.raises(ValueError, match="steps is at least 1"):
        StraightThrough(distance(network), steps=0)
    with pytest.raises(ValueError, match="learning_rate is positive"):
        StraightThrough(distance(network), learning_rate=0.0)
    with pytest.raises(ValueError, match="loss gives one number"):
        align(raw, network.group, by=StraightThrough(lambda v: v["params"]["l1"]["bias"]))
    with pytest.raises(ValueError, match="midpoint of two networks is not finite"):
        align(
            raw,
            network.group,
            network.draw(0),
            StraightThrough(lambda v: jnp.log(-1.0) + distance(network)(v)),
        )
    with pytest.raises(ValueError, match="scale is"):
        StraightThrough(distance(network), scale="norm")
    assert Weights().scale == "minimal-mass"
