"""The null control: noise of the right size, seeded, read when needed, and aligned as the draws are."""

import jax
import numpy as np
import pytest

from symbayes import trees
from symbayes.draws import Draws
from symbayes.symmetry import align
from symbayes.symmetry.align.control import NullSegment, null_draws
from symbayes.symmetry.group.stack import Stack

from ..network_kinds import kind
from .test_align import OnDisk, planted, stacked


def chains_of(raw):
    return jax.tree.map(lambda leaf: np.stack([leaf, 2 * leaf]), raw)


def many(network, count):
    return stacked([network.draw(n) for n in range(count)])


def test_noise_has_the_root_mean_square_of_each_array_and_statistics_stay():
    network = kind("residual_batch_norm")
    raw = many(network, 200)
    noise = trees.flatten(null_draws(Stack.of(raw, network.group), seed=3))
    for path, leaf in trees.flatten(raw).items():
        if path.startswith("stats/"):
            np.testing.assert_array_equal(noise[path], leaf)
            continue
        assert noise[path].shape == leaf.shape
        rms = np.sqrt(np.mean(np.square(leaf)))
        assert np.std(noise[path]) == pytest.approx(rms, rel=0.1)
        assert abs(np.mean(noise[path])) < 5 * rms / np.sqrt(leaf.size)
    kernels = [noise[path].reshape(200, -1)[:, :16] for path in ("params/c1", "params/c2")]
    assert abs(np.corrcoef(kernels[0].ravel(), kernels[1].ravel())[0, 1]) < 0.1


def test_noise_is_the_same_from_disk_and_in_any_order():
    network = kind("tanh")
    energy = np.arange(6.0).reshape(2, 3)
    draws = Draws.from_variables(chains_of(planted(network)), {"energy": energy})
    disk = Draws([OnDisk(draws.select(draws=[0])), OnDisk(draws.select(draws=[1, 2]))])
    memory = null_draws(Stack.of(draws, network.group), seed=1)
    lazy = null_draws(Stack.of(disk, network.group), seed=1)
    assert all(isinstance(segment, NullSegment) for segment in lazy.segments)
    np.testing.assert_array_equal(lazy.stats["energy"], energy)
    whole = trees.flatten(memory.variables)
    for name, rows, array in lazy.columns(max_bytes=64):
        np.testing.assert_allclose(array, whole[name][:, :, rows], rtol=1e-6)
    again = [trees.flatten(block.variables) for block in lazy.blocks(2)]
    for name, leaf in whole.items():
        np.testing.assert_allclose(np.concatenate([b[name] for b in again], axis=1), leaf, rtol=1e-6)
    other = null_draws(Stack.of(draws, network.group), seed=2)
    assert np.any(trees.flatten(other.variables)["params/l2/kernel"] != whole["params/l2/kernel"])


@pytest.mark.parametrize("whole", [True, False])
def test_a_function_of_a_key_gives_the_control(whole):
    """As whole variables or as parameters alone, once for every draw, each with its own key."""
    network = kind("gelu")
    keys = []

    def sample(key):
        keys.append(jax.random.key_data(key).tobytes())
        tree = trees.random_normal(key, network.draw(0))
        return tree if whole else tree["params"]

    found = align(planted(network), network.group, to=network.draw(0), control=sample, seed=4)
    assert len(keys) == len(set(keys)) == 3
    raw = jax.tree.map(np.asarray, null_draws(Stack.of(planted(network), network.group), sample, seed=4))
    alone = align(raw, network.group, to=network.draw(0), seed=4)
    np.testing.assert_array_equal(found.control.objective, alone.objective)
    jax.tree.map(np.testing.assert_array_equal, found.control.draws, alone.draws)


def test_control_is_one_argument_away():
    network = kind("gelu")
    raw = planted(network)
    one, two = (align(raw, network.group, control=True) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, one.control.draws, two.control.draws)
    assert trees.shapes(one.control.draws) == trees.shapes(raw)
    assert np.all(np.diff(one.control.objective) >= 0)
    assert one.control.control is None
    assert align(raw, network.group, control=False).control is None


def test_a_control_of_another_network_is_refused():
    network = kind("gelu")
    raw = planted(network)
    with pytest.raises(ValueError, match=r"the control gives the parameter 'params/l1/bias' shape \(3,\)"):
        align(raw, network.group, control=lambda key: {"l1": {"bias": np.ones(3)}})
    with pytest.raises(ValueError, match="gives no parameter 'params/l1/bias'"):
        align(raw, network.group, control=lambda key: {"l1": {"kernel": np.ones((3, 9))}})
