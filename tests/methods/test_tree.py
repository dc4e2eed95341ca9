"""The trees of NUTS: which of their parts are looked at, against all of them; and what they report."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes.engine import Tick
from symbayes.methods.phases import Trees
from symbayes.methods.phases.resting import Resting
from symbayes.methods.phases.tree import Doubling, End, Tree, turns

DEPTH = 5


def plain_turns(momenta: np.ndarray) -> bool:
    """Of all momenta of a part of a trajectory."""
    middle = momenta.sum(0) - (momenta[0] + momenta[-1]) / 2
    return bool(middle @ momenta[0] <= 0 or middle @ momenta[-1] <= 0)


def test_every_half_of_a_half_is_looked_at_when_it_is_complete() -> None:
    """Random momenta that drift, so that some parts turn and most do not; against all parts of 2, 4, 8, ...
    leaves that end at a leaf, summed anew."""
    seed = int(np.random.default_rng().integers(2**31))
    print("seed", seed)
    rng = np.random.default_rng(seed)
    method = sb.NUTS(depth=DEPTH)
    phase = Trees(1, None, 0.8, False, True, None, None, depth=DEPTH)
    assert method.depth == phase.depth
    state = Resting({"params": {"w": jnp.zeros(3)}}, {"w": jnp.zeros(3)}, jnp.zeros(2))
    grow = jax.jit(
        lambda doubling, momentum, key: phase._grown(
            doubling, End(state, {"w": momentum}), jnp.float32(0.0), Tick(key, 0)
        )
    )
    seen = []
    for _ in range(6):
        momenta = (rng.normal(size=(2**DEPTH, 3)) + np.array([0.6, 0, 0])).astype(np.float32)
        none = {"w": jnp.zeros((DEPTH, 3))}
        doubling = Doubling(
            jnp.int32(0), state, jnp.float32(-jnp.inf), {"w": jnp.zeros(3)}, none, none, jnp.array(False)
        )
        for number, momentum in enumerate(momenta):
            doubling = grow(doubling, jnp.asarray(momentum), jax.random.key(0))
            ended = [2**k for k in range(1, DEPTH + 1) if (number + 1) % 2**k == 0]
            expected = any(plain_turns(momenta[number + 1 - size : number + 1]) for size in ended)
            assert bool(doubling.turned) == expected, f"leaf {number}"
            seen.append(expected)
        np.testing.assert_allclose(doubling.momenta["w"], momenta.sum(0), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(doubling.weight, np.log(2**DEPTH), rtol=1e-5)
    assert 0.05 < np.mean(seen) < 0.95


def test_a_tree_ends_when_the_whole_of_it_turns() -> None:
    """Two halves of four leaves each: the tree goes on unless its outer ends turn on one another, whichever
    way the second half was grown."""
    seed = int(np.random.default_rng().integers(2**31))
    print("seed", seed)
    rng = np.random.default_rng(seed)
    phase = Trees(1, None, 0.8, False, True, None, None, depth=DEPTH)
    state = Resting({"params": {"w": jnp.zeros(3)}}, {"w": jnp.zeros(3)}, jnp.zeros(2))

    def end(momentum: np.ndarray) -> End:
        return End(state, {"w": jnp.asarray(momentum)})

    @jax.jit
    def joined(left: End, right: End, here: End, old: Any, new: Any, forward: jax.Array) -> jax.Array:
        none, zero, no = {"w": jnp.zeros((DEPTH, 3))}, jnp.zeros(()), jnp.array(False)
        doubling = Doubling(jnp.int32(4), state, zero, new, none, none, no)
        grown = (jnp.int32(2), doubling, jnp.int32(7), zero, no, no)
        tree = Tree(left, left, right, here, forward, state, zero, old, *grown)
        return phase._joined(tree, Tick(jax.random.key(0), 0)).going

    seen = []
    for number in range(20):
        first, second = (rng.normal(size=(2, 4, 3)) + np.array([0.5, 0, 0])).astype(np.float32)
        forward = bool(number % 2)
        whole = np.concatenate([first, second] if forward else [second, first])
        here = second[-1] if forward else second[0]
        sums = ({"w": jnp.asarray(each.sum(0))} for each in (first, second))
        goes = joined(end(first[0]), end(first[-1]), end(here), *sums, jnp.array(forward))
        assert bool(goes) == (not plain_turns(whole)), number
        seen.append(bool(goes))
    assert 0 < np.mean(seen) < 1


def test_turning_does_not_depend_on_the_direction_of_time() -> None:
    rng = np.random.default_rng(1)
    for momenta in rng.normal(size=(20, 6, 2)):
        a, b, total = ({"w": jnp.asarray(m)} for m in (momenta[0], momenta[-1], momenta.sum(0)))
        assert bool(turns(a, b, total)) == bool(turns(b, a, total)) == plain_turns(momenta)


def test_statistics_of_trees(linear: Any) -> None:
    start = {"params": {"output": {"bias": np.zeros(1), "kernel": np.zeros((2, 1))}}}
    method = sb.NUTS(step_size=0.05, burn_in=0, draws=60, chains=4, depth=6, adapt=False)
    drawn = sb.run(method, linear[0], start=start, progress=False)
    stats = drawn.stats
    assert (stats["leaves"] <= 2**6 - 1).all()
    # A tree of d doublings has 2^d - 1 leaves, and those of a last doubling that turned.
    assert (stats["leaves"] >= 2 ** stats["depth"] - 1).all()
    assert (stats["leaves"] <= 2 ** (stats["depth"] + 1) - 1).all()
    assert np.unique(stats["leaves"]).size > 3
    assert ((stats["acceptance"] > 0) & (stats["acceptance"] <= 1)).all()
    assert drawn.origin is not None
    (sentence,) = method.tell(drawn.origin.traces)
    assert f"trees of {stats['leaves'].mean():.0f} leaves" in sentence
    wild = dataclasses.replace(method, step_size=50.0, draws=4)
    with pytest.warns(UserWarning, match="trees diverged after burn-in"):
        diverged = sb.run(wild, linear[0], start=start, progress=False)
    assert diverged.stats["divergent"].all()
    assert (diverged.stats["leaves"] == 1).all()
    short = dataclasses.replace(method, step_size=1e-3, draws=4)
    with pytest.warns(UserWarning, match=r"100% of the trees reached the largest depth of 6"):
        sb.run(short, linear[0], start=start, progress=False)
