import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes import trees
from symbayes.engine import placement
from symbayes.engine.loop import State

from .runs import HMC, run


@given(chains=st.integers(1, 64), count=st.integers(1, 8))
def test_a_mesh_uses_every_device_and_divides_the_chains(chains, count):
    mesh = sb.make_mesh(chains, jax.devices()[:count])
    assert mesh.axis_names == ("chain", "data")
    assert mesh.size == count
    assert chains % mesh.shape["chain"] == 0
    assert mesh.shape["chain"] == np.gcd(chains, count)
    assert set(mesh.devices.flat) == set(jax.devices()[:count])
    placement.require_fits(mesh, chains)


def test_all_devices_are_taken_by_default():
    assert dict(sb.make_mesh(4).shape) == {"chain": 4, "data": 2}
    assert dict(sb.make_mesh(3).shape) == {"chain": 1, "data": 8}
    assert dict(sb.make_mesh(8, data=4).shape) == {"chain": 2, "data": 4}


@pytest.mark.parametrize("data", [3, 16, 0, -2])
def test_layouts_that_do_not_divide_are_refused(data):
    with pytest.raises(ValueError, match=f"8 devices cannot be laid out with {data} along the data axis"):
        sb.make_mesh(4, data=data)


def test_no_devices_are_refused():
    with pytest.raises(ValueError, match="0 devices cannot be laid out"):
        sb.make_mesh(4, devices=[])


def test_meshes_that_do_not_fit_are_refused_before_anything_is_written(tiny, tmp_path):
    with pytest.raises(
        ValueError, match="2 chains do not divide among the 4 devices of the mesh's chain axis"
    ):
        run(HMC, tiny, mesh=sb.make_mesh(4), store=tmp_path / "run")
    other = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    with pytest.raises(ValueError, match=r"a mesh has the axes \('chain', 'data'\), not \('x', 'y'\)"):
        run(HMC, tiny, mesh=other, store=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("count", [2, 3, 8])
def test_examples_are_spread_and_padding_changes_nothing(tiny, count):
    mesh = sb.make_mesh(1, jax.devices()[:count])
    placed = placement.place_posterior(tiny, mesh)
    assert len(placed.chunks.x.sharding.device_set) == count
    assert placed.chunks.mask.shape[1] % count == 0
    for part in (placed.chunks.x, placed.chunks.y, placed.chunks.mask):
        assert {shard.data.shape[1] for shard in part.addressable_shards} == {part.shape[1] // count}
    assert placed.train.checksum() == tiny.train.checksum()
    assert len(tiny.chunks.x.sharding.device_set) == 1
    variables = tiny.init(jax.random.key(2))
    alone, together = (p.likelihood_terms(variables).sum() for p in (tiny, placed))
    np.testing.assert_allclose(together, alone, rtol=1e-5)


def test_chains_are_spread_and_the_rest_is_everywhere():
    mesh = sb.make_mesh(4)
    weights = {"w": np.arange(12.0).reshape(4, 3)}
    state = State(np.arange(2, dtype=np.uint32), weights, {"step": np.ones(())}, {"p": np.arange(4.0)})
    placed = placement.place_state(state, mesh)
    assert placed.chain["w"].sharding.spec == jax.sharding.PartitionSpec("chain")
    assert placed.flight["p"].sharding.spec == jax.sharding.PartitionSpec("chain")
    assert placed.key.sharding.is_fully_replicated
    assert placed.shared["step"].sharding.is_fully_replicated
    for before, after in zip(jax.tree.leaves(state), jax.tree.leaves(placed), strict=True):
        np.testing.assert_array_equal(before, after)


def test_devices_do_not_change_the_draws(tiny, tmp_path):
    """One block on one device and on eight agrees up to rounding, which chaos has no time to grow."""
    alone = run(HMC, tiny)
    spread = run(HMC, tiny, mesh=sb.make_mesh(2), store=tmp_path / "run")
    for name, array in trees.flatten(alone.variables).items():
        np.testing.assert_allclose(trees.flatten(spread.variables)[name], array, rtol=1e-3, atol=1e-4)
    assert sb.Run(tmp_path / "run").config["devices"][1] == 8


@pytest.fixture
def cores(monkeypatch):
    """As if JAX had been told to make its devices one for each core."""
    monkeypatch.setattr(placement, "_several_asked_for", lambda: True)


@given(chains=st.integers(1, 40))
def test_chains_go_over_as_many_cores_as_divide_them(tiny, chains):
    with pytest.MonkeyPatch.context() as patch:
        assert placement.over_cores(tiny, chains) is None, "nobody asked for it"
        patch.setattr(placement, "_several_asked_for", lambda: True)
        mesh = placement.over_cores(tiny, chains)
    found = 1 if mesh is None else mesh.size
    assert found == max(n for n in range(1, 9) if chains % n == 0)
    assert mesh is None or dict(mesh.shape) == {"chain": found, "data": 1}


def test_copies_of_large_data_are_few(tiny, cores, monkeypatch):
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(tiny.chunks))
    monkeypatch.setattr(placement, "COPIES", 3 * size)
    mesh = placement.over_cores(tiny, 4)
    assert mesh is not None
    assert mesh.size == 2
    monkeypatch.setattr(placement, "COPIES", size - 1)
    assert placement.over_cores(tiny, 4) is None


def test_a_run_on_cores_has_the_draws_of_one_device(tiny, monkeypatch):
    one = run(HMC, tiny)
    monkeypatch.setattr(placement, "_several_asked_for", lambda: True)
    several = run(HMC, tiny)
    assert one.origin is not None
    assert several.origin is not None
    assert (one.origin.config["devices"][1], several.origin.config["devices"][1]) == (1, 2)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), one.variables, several.variables)


def test_cores_are_chosen_before_anything_is_computed():
    placement.use_cores(8)  # as it is
    with pytest.raises(ValueError, match="use_cores comes too late"):
        placement.use_cores(3)
    with pytest.raises(ValueError, match="cores must be a whole number of at least 1, not 0"):
        placement.use_cores(0)
