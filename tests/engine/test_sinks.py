"""The same blocks into memory and into a folder give the same run."""

import numpy as np
import pytest

from draws.folders import BLOCKS, CONFIG, commit, everything
from symbayes import trees
from symbayes.draws import Run
from symbayes.engine.sinks import MemorySink, sink


def flat(tree) -> dict[str, np.ndarray]:
    return {name: np.asarray(array) for name, array in trees.flatten(tree).items()}


def assert_same(one, other) -> None:
    assert flat(one).keys() == flat(other).keys()
    for name, array in flat(other).items():
        assert flat(one)[name].dtype == array.dtype
        np.testing.assert_array_equal(flat(one)[name], array, err_msg=name)


@pytest.mark.parametrize("stored", [False, True])
def test_blocks_read_back(tmp_path, stored):
    store = tmp_path / "run" if stored else None
    with sink(store, CONFIG, ()) as into:
        assert into.blocks == 0
        for block in range(BLOCKS):
            commit(into, block)
        into.save_observed("moments", {"mean": np.arange(3.0)})
        variables, stats = everything()
        assert into.blocks == len(into.entries) == BLOCKS
        assert [entry["block"] for entry in into.entries] == list(range(BLOCKS))
        assert into.entries[-1]["metrics"] == {"loss": 1 / BLOCKS}
        assert_same(into.draws.variables, {"stats": {}, **variables})
        assert_same(into.draws.stats, stats)
        assert_same(into.draws.observed, {"moments": {"mean": np.arange(3.0)}})
    assert (tmp_path / "run").exists() == stored


def test_a_folder_and_memory_are_the_same(tmp_path):
    memory = MemorySink()
    with sink(tmp_path / "run", CONFIG, ()) as into:
        for block in range(BLOCKS):
            commit(memory, block)
            commit(into, block)
            for one in (into, Run(tmp_path / "run")):
                assert_same(memory.traces, one.traces)
                assert list(memory.traces) == list(one.traces)
                assert (memory.distribution is None) == (one.distribution is None)
                assert_same(memory.distribution or {}, one.distribution or {})
                assert len(memory.draws) == len(one.draws)


def test_blocks_without_anything_are_blocks(tmp_path):
    """Pieces of a unit have neither draws nor traces."""
    memory = MemorySink()
    with sink(tmp_path / "run", CONFIG, ()) as into:
        for one in (memory, into):
            one.commit({}, 0, cursor={"phase": 0, "unit": 0, "piece": 1, "drawn": 0})
            assert one.blocks == 1
            assert len(one.draws) == 0
            assert one.traces == {}
            assert one.distribution is None
    assert sorted(path.name for path in (tmp_path / "run").rglob("*.safetensors")) == []


def test_a_folder_that_grows_is_named(tmp_path):
    with sink(tmp_path / "run", CONFIG, ()) as into:
        for block in range(BLOCKS):
            commit(into, block)
    more = {**CONFIG, "units": [1, 20]}
    with sink(tmp_path / "run", more, ("units",)) as into:
        assert into.config["units"] == [1, 20]
