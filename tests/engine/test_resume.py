"""A run that ends at any block goes on to the bytes of an undisturbed one."""

import numpy as np
import pytest

import symbayes as sb
from draws.folders import fsync_fails_at, results
from symbayes.draws import Run, files

from .runs import METHODS, Crash, crash_at


@pytest.fixture(scope="module")
def observers(digits) -> tuple[sb.Moments, sb.Predictions]:
    return sb.Moments(), sb.Predictions(digits.test.x[:16])


@pytest.fixture(scope="module", params=METHODS)
def case(request, tiny, observers, tmp_path_factory):
    """A method, and all files of its undisturbed run."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    sb.run(METHODS[request.param], tiny, store=folder, observers=observers)
    return METHODS[request.param], results(folder), Run(folder).blocks


@pytest.mark.parametrize("committed", [False, True], ids=["before its line", "after its line"])
def test_a_run_that_crashes_in_every_block_ends_in_the_same_bytes(
    case, tiny, observers, tmp_path, monkeypatch, committed
):
    method, expected, blocks = case
    for block in range(blocks):
        with crash_at(monkeypatch, block, committed), pytest.raises(Crash):
            sb.run(method, tiny, store=tmp_path / "run", observers=observers)
        assert Run(tmp_path / "run").blocks == block + committed
    sb.run(method, tiny, store=tmp_path / "run", observers=observers)
    assert results(tmp_path / "run") == expected


def test_one_crash_in_the_middle_is_no_different(case, tiny, observers, tmp_path, monkeypatch):
    method, expected, blocks = case
    with crash_at(monkeypatch, blocks // 2, committed=True), pytest.raises(Crash):
        sb.run(method, tiny, store=tmp_path / "run", observers=observers)
    sb.run(method, tiny, store=tmp_path / "run", observers=observers)
    assert results(tmp_path / "run") == expected


def test_the_forms_have_the_blocks_that_they_are_named_for(tiny):
    blocks = {name: method.resolve(tiny).blocks(tiny) for name, method in METHODS.items()}
    # 9 trajectories of 5 steps, 5 epochs of 4 steps.
    assert list(blocks.values()) == [5, 27, 3, 10]


def test_a_full_disk_in_the_middle_of_a_run(tiny, observers, tmp_path, monkeypatch):
    method = METHODS["hmc, trajectories in a block"]
    whole = sb.run(method, tiny, store=tmp_path / "whole", observers=observers)
    with fsync_fails_at(monkeypatch, 20), pytest.raises(files.StorageError, match="the disk is full"):
        sb.run(method, tiny, store=tmp_path / "run", observers=observers)
    earlier = Run(tmp_path / "run")
    assert 0 < earlier.blocks < 5
    energy = whole.stats["energy"]
    np.testing.assert_array_equal(earlier.draws.stats["energy"], energy[:, : len(earlier.draws)])
    sb.run(method, tiny, store=tmp_path / "run", observers=observers)
    assert results(tmp_path / "run") == results(tmp_path / "whole")


def test_observers_that_changed_are_refused(tiny, digits, tmp_path, monkeypatch):
    method = METHODS["hmc, trajectories in a block"]
    with crash_at(monkeypatch, 3, committed=True), pytest.raises(Crash):
        sb.run(method, tiny, store=tmp_path / "run", observers=[sb.Predictions(digits.test.x[:16])])
    with pytest.raises(sb.RunError, match=r"observers|another form"):
        sb.run(method, tiny, store=tmp_path / "run", observers=[sb.Predictions(digits.test.x[:8])])
