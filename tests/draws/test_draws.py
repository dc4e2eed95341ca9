import re

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from symbayes import trees
from symbayes.draws import Draws
from symbayes.draws.files import StorageError

from .folders import BLOCKS, CHAINS, SHAPES, everything, work_on

TOTAL = len(everything()[1]["energy"][0])
NAMES = ["params/l2/gain", "params/l2/kernel", "params/l10/kernel", "stats/mean"]


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory) -> Draws:
    return work_on(tmp_path_factory.mktemp("draws") / "run").draws


@pytest.fixture(scope="module")
def in_memory() -> Draws:
    return Draws.from_variables(*everything())


@pytest.fixture(params=["on_disk", "in_memory"])
def draws(request) -> Draws:
    return request.getfixturevalue(request.param)


def assert_equal(a: Draws, b: Draws) -> None:
    assert (a.chains, len(a), a.shapes) == (b.chains, len(b), b.shapes)
    assert a.stats.keys() == b.stats.keys()
    for one, other in zip(flat(a).values(), flat(b).values(), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def flat(draws: Draws) -> dict[str, np.ndarray]:
    return trees.flatten(draws.variables) | draws.stats


def picked(draws: Draws, chains, picks) -> dict[str, np.ndarray]:
    return {name: array[chains][:, picks] for name, array in flat(draws).items()}


def test_on_disk_and_in_memory_are_the_same(on_disk, in_memory):
    assert len(on_disk.segments) == BLOCKS - 1
    assert len(in_memory.segments) == 1
    assert_equal(on_disk, in_memory)
    assert on_disk.observed["moments"]["mean"].tolist() == [0, 1, 2]


def test_names_come_in_natural_order(draws):
    assert list(draws.shapes) == NAMES
    assert trees.names(draws.variables) == NAMES
    assert draws.shapes == {name: SHAPES[name] for name in NAMES}
    assert [name for name, _, _ in draws.columns()] == NAMES


@given(size=st.integers(1, TOTAL + 2))
def test_blocks_cover_every_draw_once(on_disk, in_memory, size):
    for draws in (on_disk, in_memory):
        parts = list(draws.blocks(size))
        assert all(0 < len(part) <= size for part in parts)
        for name, array in flat(draws).items():
            np.testing.assert_array_equal(np.concatenate([flat(p)[name] for p in parts], axis=1), array)


@given(max_bytes=st.integers(0, 10_000))
def test_as_many_draws_as_fit(in_memory, max_bytes):
    count = in_memory.draws_within(max_bytes)
    each = sum(4 * leaf[:, 0].size for leaf in trees.flatten(in_memory.variables).values())
    assert count == 1 or count * each <= max_bytes
    assert (count + 1) * each > max_bytes


@given(max_bytes=st.integers(1, 2000))
def test_columns_cover_every_weight_once(on_disk, in_memory, max_bytes):
    for draws in (on_disk, in_memory):
        found = {name: [] for name in draws.shapes}
        for name, rows, part in draws.columns(max_bytes):
            one_row = part.nbytes // (rows.stop - rows.start)
            assert part.nbytes <= max_bytes or part.nbytes == one_row
            found[name].append((rows, part))
        for name, array in trees.flatten(draws.variables).items():
            parts = [part for _, part in found[name]]
            joined = np.concatenate(parts, axis=2) if array.ndim > 2 else parts[0]
            np.testing.assert_array_equal(joined, array)
            for rows, part in found[name]:
                np.testing.assert_array_equal(part, array[:, :, rows] if array.ndim > 2 else array)


@given(every=st.integers(1, TOTAL + 1))
def test_thinning_counts_over_all_draws(on_disk, in_memory, every):
    for draws in (on_disk, in_memory):
        thinned = draws.thin(every)
        for name, array in flat(draws).items():
            np.testing.assert_array_equal(flat(thinned)[name], array[:, ::every])


@given(st.lists(st.integers(-TOTAL, TOTAL - 1), min_size=1), st.lists(st.integers(0, CHAINS - 1), min_size=1))
def test_selection_keeps_the_order_asked_for(on_disk, in_memory, picks, chains):
    for draws in (on_disk, in_memory):
        selected = draws.select(chains=np.array(chains), draws=np.array(picks))
        assert (selected.chains, len(selected)) == (len(chains), len(picks))
        for name, array in picked(draws, chains, picks).items():
            np.testing.assert_array_equal(flat(selected)[name], array)


@pytest.mark.parametrize("chains", [slice(None), slice(1, 2), 1, np.array([False, True])])
def test_chains_are_selected_by_slice_mask_or_number(draws, chains):
    rows = np.atleast_1d(np.arange(CHAINS)[chains])
    selected = draws.select(chains=chains, draws=slice(None, None, -2))
    for name, array in picked(draws, rows, slice(None, None, -2)).items():
        np.testing.assert_array_equal(flat(selected)[name], array)


def test_empty_selections_are_refused(draws):
    with pytest.raises(ValueError, match="no draw is left"):
        draws.select(draws=slice(TOTAL, None))
    with pytest.raises(ValueError, match="no chain is left"):
        draws.select(chains=slice(0, 0))
    with pytest.raises(ValueError, match="n >= 1, not 0"):
        draws.thin(0)
    with pytest.raises(ValueError, match="at least one draw, not 0"):
        next(draws.blocks(0))


def test_repr_says_what_there_is_and_where(on_disk, in_memory):
    numbers = sum(int(np.prod(shape)) for shape in SHAPES.values())
    assert repr(in_memory) == f"Draws(2 chains x {TOTAL} draws of {numbers} numbers)"
    assert (
        repr(in_memory.select(chains=0, draws=slice(0, 1))) == f"Draws(1 chain x 1 draw of {numbers} numbers)"
    )
    assert repr(on_disk) == f"Draws(2 chains x {TOTAL} draws of {numbers} numbers, in {on_disk.path})"
    assert repr(Draws([])) == "Draws(none)"


def test_no_draws_at_all_is_said_clearly():
    empty = Draws([])
    assert len(empty) == 0
    assert list(empty.blocks(3)) == []
    with pytest.raises(ValueError, match="there are no draws here"):
        _ = empty.variables


def test_arrays_without_common_leading_axes_are_refused():
    with pytest.raises(ValueError, match=r"same \(chain, draw\) axes"):
        Draws.from_variables({"a": np.zeros((2, 3)), "b": np.zeros((2, 4))})
    with pytest.raises(ValueError, match=r"same \(chain, draw\) axes"):
        Draws.from_variables({"a": np.zeros(3)})


def test_arviz_reads_parameters_and_statistics(draws):
    tree = draws.to_arviz()
    params = trees.flatten(draws.variables["params"])
    assert set(tree["posterior"].data_vars) == {name.replace("/", ".") for name in params}
    for name, array in params.items():
        exported = tree["posterior"][name.replace("/", ".")]
        assert exported.dims[:2] == ("chain", "draw")
        np.testing.assert_array_equal(exported.values, array)
    np.testing.assert_array_equal(tree["sample_stats"]["lp"].values, -draws.stats["energy"])


def test_safetensors_export_reads_back_and_never_overwrites(draws, tmp_path):
    path = tmp_path / "all.safetensors"
    draws.save(path)
    read = safetensors.numpy.load_file(path)
    expected = trees.flatten(draws.variables)
    expected |= {f"statistics/{name}": values for name, values in draws.stats.items()}
    assert read.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(read[name], array)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=re.escape(str(path))):
        draws.select(chains=[0]).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_export_below_a_file_is_refused_in_one_sentence(draws, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="a parent of it is a file, not a folder"):
        draws.save(tmp_path / "file" / "all.safetensors")
