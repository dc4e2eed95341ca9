"""A run that ends at any block goes on to the bytes of an undisturbed one, however seldom state is stored."""

import numpy as np
import pytest

import symbayes as sb
from draws.folders import fsync_fails_at, results
from symbayes.draws import Run, files
from symbayes.engine import job
from symbayes.engine.sinks import sink
from symbayes.engine.start import Start

from .runs import FORMS, HMC, Crash, crash_at, run

pytestmark = pytest.mark.level

SELDOM, ALWAYS = 1e-9, np.inf
"""Bytes of state per second: after the first block none, but for the last; and in every block."""


@pytest.fixture(scope="module")
def observers(digits) -> tuple[sb.Moments, sb.Predictions]:
    return sb.Moments(), sb.Predictions(digits.test.x[:16])


@pytest.fixture(scope="module", params=FORMS)
def case(request, tiny, observers, tmp_path_factory):
    """A method with the size of its blocks, and all results of its undisturbed run."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    method, block_steps = FORMS[request.param]
    sb.run(method, tiny, store=folder, observers=observers, block_steps=block_steps)
    return method, block_steps, results(folder)


def stored_states(folder) -> list[int]:
    """Blocks whose lines have a state."""
    return [entry["block"] for entry in Run(folder).entries if entry["state"]]


@pytest.mark.usefixtures("forms_once")
@pytest.mark.parametrize("rate", [SELDOM, ALWAYS], ids=["state seldom", "state always"])
@pytest.mark.parametrize("committed", [False, True], ids=["before its line", "after its line"])
def test_a_run_that_crashes_in_every_block_ends_in_the_same_bytes(
    case, tiny, observers, tmp_path, monkeypatch, committed, rate
):
    method, block_steps, expected = case
    monkeypatch.setattr(job, "STATE_BYTES_PER_SECOND", rate)
    options = {"store": tmp_path / "run", "observers": observers, "block_steps": block_steps}
    for block in range(len(expected["journal.jsonl"])):
        with crash_at(monkeypatch, block, committed), pytest.raises(Crash):
            sb.run(method, tiny, **options)
        assert Run(tmp_path / "run").blocks == block + committed
    sb.run(method, tiny, **options)
    assert results(tmp_path / "run") == expected


@pytest.mark.usefixtures("forms_once")
@pytest.mark.parametrize("rate", [SELDOM, ALWAYS], ids=["state seldom", "state always"])
def test_one_crash_in_the_middle_is_no_different(case, tiny, observers, tmp_path, monkeypatch, rate):
    method, block_steps, expected = case
    monkeypatch.setattr(job, "STATE_BYTES_PER_SECOND", rate)
    options = {"store": tmp_path / "run", "observers": observers, "block_steps": block_steps}
    middle, last = (len(expected["journal.jsonl"]) // 2, len(expected["journal.jsonl"]) - 1)
    with crash_at(monkeypatch, middle, committed=True), pytest.raises(Crash):
        sb.run(method, tiny, **options)
    assert stored_states(tmp_path / "run") == ([0] if rate is SELDOM else list(range(middle + 1)))
    sb.run(method, tiny, **options)
    # A process stores the state of the first block that it makes, and that of the last one.
    assert stored_states(tmp_path / "run") == ([0, 1, last] if rate is SELDOM else list(range(last + 1)))
    assert results(tmp_path / "run") == expected


def test_the_state_of_the_block_at_which_a_run_is_stopped_is_stored(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "STATE_BYTES_PER_SECOND", SELDOM)
    with sink(tmp_path / "run", {"units": [3, 6]}, ()) as into:
        work = job.Job(HMC, tiny, Start(tiny, 0, 2), block_steps=10, stopping=lambda: into.blocks == 2)
        assert [made.last for made, _ in work.work(into)] == [False] * 4 + [True]
    assert stored_states(tmp_path / "run") == [0, 2, 4]


def test_the_forms_have_the_blocks_that_they_are_named_for(tiny, tmp_path):
    """Burn-in of 3 trajectories of 5 steps, 6 of 4 steps, 5 epochs of 4 steps."""
    blocks = []
    for number, (method, block_steps) in enumerate(FORMS.values()):
        sb.run(method, tiny, store=tmp_path / str(number), block_steps=block_steps)
        blocks.append(Run(tmp_path / str(number)).blocks)
    assert blocks == [2 + 3, 3 * 3 + 6 * 2, 3, 10]


def test_a_full_disk_in_the_middle_of_a_run(tiny, observers, tmp_path, monkeypatch):
    whole = run(HMC, tiny, store=tmp_path / "whole", observers=observers)
    with fsync_fails_at(monkeypatch, 26), pytest.raises(files.StorageError, match="the disk is full"):
        run(HMC, tiny, store=tmp_path / "run", observers=observers)
    earlier = Run(tmp_path / "run")
    assert 2 < earlier.blocks < 5
    energy = whole.stats["energy"]
    np.testing.assert_array_equal(earlier.draws.stats["energy"], energy[:, : len(earlier.draws)])
    run(HMC, tiny, store=tmp_path / "run", observers=observers)
    assert results(tmp_path / "run") == results(tmp_path / "whole")


def test_observers_that_changed_are_refused(tiny, digits, tmp_path, monkeypatch):
    with crash_at(monkeypatch, 3, committed=True), pytest.raises(Crash):
        run(HMC, tiny, store=tmp_path / "run", observers=[sb.Predictions(digits.test.x[:16])])
    with pytest.raises(sb.RunError, match=r"observers|another form"):
        run(HMC, tiny, store=tmp_path / "run", observers=[sb.Predictions(digits.test.x[:8])])
