"""Runs that store their state seldom go back to the last one; runs that are asked for more go on."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from symbayes.draws import Run, RunError, Writer, files, journal

from .folders import BLOCKS, CONFIG, block_draws, commit, contents, without_config, work_on

SELDOM = (1, BLOCKS - 1)
"""Blocks that store their state."""
MORE = {**CONFIG, "method": {**CONFIG["method"], "draws": 14}, "units": [1, 14]}
GROWS = ("method.draws", "units")


@pytest.fixture(scope="module")
def seldom(tmp_path_factory) -> dict[str, bytes]:
    """All files of a whole run that stored its state twice."""
    folder = tmp_path_factory.mktemp("seldom") / "run"
    work_on(folder, states=SELDOM)
    return contents(folder)


class Killed(Exception):
    """Stands for whatever ends a process."""


@contextlib.contextmanager
def killed_after(monkeypatch: pytest.MonkeyPatch, changes: int) -> Iterator[None]:
    """The process ends when it has removed or cut this many files."""
    left = iter(range(changes))

    def counted(change: Callable[..., None]) -> Callable[..., None]:
        def changed(*arguments: Any) -> None:
            if next(left, None) is None:
                raise Killed
            change(*arguments)

        return changed

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", counted(Path.unlink))
        patch.setattr(journal, "cut", counted(journal.cut))
        yield


def test_states_are_where_they_were_stored_and_only_the_last_is_kept(tmp_path):
    run = work_on(tmp_path / "run", states=SELDOM)
    assert [bool(entry["state"]) for entry in run.entries] == [block in SELDOM for block in range(BLOCKS)]
    assert [path.stem for path in (tmp_path / "run/state").iterdir()] == [f"{BLOCKS - 1:06d}"]
    work_on(tmp_path / "stopped", 4, states=SELDOM)
    assert [path.stem for path in (tmp_path / "stopped/state").iterdir()] == ["000001"]


@pytest.mark.parametrize("upto", range(BLOCKS + 1))
def test_a_stopped_run_goes_back_to_its_last_state_and_on_to_the_same_bytes(tmp_path, seldom, upto):
    folder = tmp_path / "run"
    assert work_on(folder, upto, states=SELDOM).blocks == upto
    stored = [block for block in SELDOM if block < upto]
    with Writer.open(folder, CONFIG) as run:
        assert run.blocks == (stored[-1] + 1 if stored else 0)
        assert len(run.draws) == sum(block_draws(block) for block in range(run.blocks))
        beyond = [path for path in folder.rglob("*.safetensors") if path.stem >= f"{run.blocks:06d}"]
        assert [path for path in beyond if path.parent.name != "observed"] == []
    work_on(folder, states=SELDOM)
    assert without_config(contents(folder)) == without_config(seldom)


def test_what_is_committed_is_read_without_a_state(tmp_path):
    run = work_on(tmp_path / "run", 4, states=SELDOM)
    assert len(run.draws) == run.draws.stats["energy"].shape[1] == 9
    assert run.traces["energy"].shape[1] == 10


@pytest.mark.parametrize("changes", range(8))
def test_a_process_killed_while_going_back_loses_nothing(tmp_path, seldom, monkeypatch, changes):
    """Two blocks beyond the last state: two lines, two shards of draws, two of traces, and a distribution."""
    folder = tmp_path / "run"
    work_on(folder, 4, states=SELDOM)
    with killed_after(monkeypatch, changes), contextlib.suppress(Killed), Writer.open(folder, CONFIG):
        pass
    work_on(folder, states=SELDOM)
    assert without_config(contents(folder)) == without_config(seldom)


def grown(folder: Path, config: dict[str, Any] = MORE, upto: int = BLOCKS + 1) -> Run:
    """Ask the run for more, and go on for one block."""
    with Writer.open(folder, config, GROWS) as run:
        for block in range(run.blocks, upto):
            commit(run, block)
    return Run(folder)


def test_a_run_that_is_asked_for_more_goes_on(tmp_path):
    before = work_on(tmp_path / "run")
    assert before.finished
    created = before.config["created"]
    files.write_json(tmp_path / "run/config.json", before.config | {"created": "long ago", "about": {"a": 1}})
    with Writer.open(tmp_path / "run", MORE | {"about": {"a": 2}}, GROWS) as run:
        assert run.blocks == BLOCKS
        assert not run.finished
        assert run.state()["block"] == BLOCKS - 1
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert config == MORE | {"created": "long ago", "about": {"a": 2}}
    assert created != "long ago"
    after = grown(tmp_path / "run")
    assert after.blocks == BLOCKS + 1
    assert len(after.draws) == len(before.draws) + 3


def test_a_run_that_was_not_asked_for_more_keeps_its_configuration(tmp_path):
    work_on(tmp_path / "run")
    before = contents(tmp_path / "run")
    with Writer.open(tmp_path / "run", CONFIG | {"about": {"a": 2}}, GROWS) as run:
        assert run.finished
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize(
    ("config", "grows", "message"),
    [
        (MORE, (), "method.draws: 11 there, 14 now"),
        (MORE, ("units",), "method.draws: 11 there, 14 now"),
        (MORE | {"seed": 4}, GROWS, "seed: 3 there, 4 now"),
        (MORE | {"method": {**MORE["method"], "draws": 10}}, GROWS, "method.draws: 11 there, 10 now"),
        (MORE | {"units": [1, 10]}, GROWS, r"units: \[1, 11\] there, \[1, 10\] now"),
        (MORE | {"units": [0, 14]}, GROWS, r"units: \[1, 11\] there, \[0, 14\] now"),
        (MORE | {"method": {"kind": "Letters", "draws": 14}}, GROWS, "method.kind: 'Numbers' there"),
    ],
)
def test_what_does_not_grow_is_refused_and_a_start_is_offered(tmp_path, config, grows, message):
    work_on(tmp_path / "run")
    before = contents(tmp_path / "run")
    with (
        pytest.raises(RunError, match=f"another configuration .*{message}.* begin from this run with start"),
        Writer.open(tmp_path / "run", config, grows),
    ):
        pass
    assert contents(tmp_path / "run") == before
