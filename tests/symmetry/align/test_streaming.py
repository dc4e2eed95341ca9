"""Alignment of a run that is larger than memory: a block at a time, to the last derived run."""

import gc
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes import trees
from symbayes.draws import Draws, Writer
from symbayes.symmetry import Activations, Weights, align, discover
from symbayes.symmetry.align import control
from symbayes.symmetry.group import stack

from ..symmetry_networks import draw, inputs

CHAINS, SHARDS, DRAWS = 2, 16, 2
SHAPES = {"w": (20000, 4), "b": (4,), "out": (4, 2)}
BYTES = 4 * CHAINS * SHARDS * DRAWS * (80000 + 4 + 8)


def apply(v, x):
    return jnp.tanh(x @ v["w"] + v["b"]) @ v["out"]


@pytest.fixture(scope="module")
def group():
    return discover(apply, draw(SHAPES), inputs(2, 20000))


@pytest.fixture(scope="module")
def run(tmp_path_factory, group):
    """Copies of one network with noise, each carried away, in sixteen shards."""
    base = {path: np.asarray(leaf) for path, leaf in trees.flatten(draw(SHAPES)).items()}
    rng = np.random.default_rng(0)
    act = jax.jit(jax.vmap(jax.vmap(group.act)))
    with Writer.open(tmp_path_factory.mktemp("large") / "run", {"units": [SHARDS]}) as run:
        for shard in range(SHARDS):
            keys = jax.random.split(jax.random.key(shard), (CHAINS, DRAWS))
            elements = jax.vmap(jax.vmap(group.random_element))(keys)
            noisy = {
                path: leaf + 0.1 * rng.normal(size=(CHAINS, DRAWS, *leaf.shape)).astype(np.float32)
                for path, leaf in base.items()
            }
            moved = {f"variables/{path}": np.asarray(leaf) for path, leaf in act(elements, noisy).items()}
            run.commit(moved, DRAWS, cursor={"phase": 0, "unit": shard + 1})
    return run


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(stack, "BLOCK_BYTES", 2**20)
    monkeypatch.setattr(control, "BLOCK_BYTES", 2**20)


def peak(work, again=True):
    """The most bytes that Python and NumPy held at once, and what the work returned.

    It is done once before, so that nothing is compiled meanwhile; garbage is collected as it is by default.
    """
    if again:
        work()
    seldom = gc.get_threshold()
    gc.collect()
    gc.freeze()  # what other tests left is not searched
    gc.set_threshold(700, 10, 10)
    tracemalloc.start()
    try:
        found = work()
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()
        gc.set_threshold(*seldom)


@pytest.mark.parametrize("to", ["joint", "reference"])
def test_only_a_few_blocks_are_held(run, group, small_blocks, to, tmp_path):
    target = to if to == "joint" else draw(SHAPES)
    used, found = peak(lambda: align(run.draws, group, to=target, by=Weights(scale=None)))
    assert BYTES > 20e6
    assert used < BYTES / 3
    used, spread = peak(lambda: [np.var(w, axis=(0, 1)).max() for *_, w in found.draws.columns(2**20)])
    assert used < BYTES / 3
    assert max(spread) < 0.03

    def derive():
        with Writer.open(tmp_path / to, {"derived_from": str(run.path)}) as derived:
            for k, block in enumerate(found.draws.blocks(2)):
                arrays = {f"variables/{path}": w for path, w in trees.flatten(block.variables).items()}
                derived.commit(arrays, len(block), cursor={"phase": 0, "unit": k + 1})
        return derived

    used, derived = peak(derive, again=False)
    assert used < BYTES / 3
    np.testing.assert_array_equal(
        derived.draws.select(draws=[7]).variables["w"], found.draws.select(draws=[7]).variables["w"]
    )


def test_activations_and_the_control_hold_no_more(run, group, small_blocks):
    by = Activations(apply, np.asarray(inputs(16, 20000)), scale=None)
    used, found = peak(lambda: align(run.draws, group, to=draw(SHAPES), by=by, control=True))
    assert used < BYTES / 3
    assert isinstance(found.draws, Draws)
    assert max(np.var(w, axis=(0, 1)).max() for *_, w in found.draws.columns(2**20)) < 0.03
    noise = found.control.draws.select(draws=[3, 20]).variables["w"]
    assert not any(isinstance(s, stack.MemorySegment) for s in found.control.draws.segments)
    assert np.std(noise) == pytest.approx(np.std(run.draws.select(draws=[3, 20]).variables["w"]), rel=0.1)
