import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from symbayes.draws import Run, RunError, Writer, files, journal

from .folders import (
    BLOCKS,
    CONFIG,
    FITS,
    block_draws,
    block_parts,
    block_state,
    contents,
    everything,
    replace,
    without_config,
    work_on,
)

LAST = f"{BLOCKS - 1:06d}.safetensors"


@pytest.fixture
def folder(tmp_path, undisturbed):
    """A whole run that a test may damage."""
    replace(tmp_path / "run", undisturbed)
    return tmp_path / "run"


def assert_refused(folder, message: str, error: type[Exception] = RunError, config: dict = CONFIG) -> None:
    """Going on is refused with this message, and every file stays as it is."""
    before = contents(folder)
    with pytest.raises(error, match=message), Writer.open(folder, config):
        pass
    assert contents(folder) == before


def test_a_run_reads_back_what_was_committed(folder):
    run = Run(folder)
    assert run.finished
    assert run.blocks == BLOCKS
    assert run.cursor == {"phase": 1, "unit": 11, "piece": 0, "drawn": 11}
    assert run.metrics == [{"loss": 1 / (block + 1)} for block in range(BLOCKS)]
    assert {json.dumps(entry["plan"]) for entry in run.entries} == {'{"steps": 7, "units": 3, "pieces": 1}'}
    for name in ("energy", "late"):
        made = [block_parts(block)["traces"][name] for block in range(BLOCKS)]
        np.testing.assert_array_equal(run.traces[name], np.concatenate(made, axis=1))
    assert run.distribution is not None
    np.testing.assert_array_equal(run.distribution["mean"], np.full((2, 3), FITS / 7))
    for name, array in block_state(BLOCKS - 1).items():
        np.testing.assert_array_equal(run.state()[name], array)
    stats = everything()[1]
    np.testing.assert_array_equal(run.draws.stats["accepted"], stats["accepted"])
    assert {key: run.config[key] for key in CONFIG} == CONFIG


def test_only_the_last_state_and_shards_with_draws_are_kept(folder):
    assert [path.name for path in (folder / "state").iterdir()] == [LAST]
    shards = sorted(path.stem for path in (folder / "draws").iterdir())
    assert shards == [f"{block:06d}" for block in range(BLOCKS) if block_draws(block)]
    assert len(list((folder / "traces").iterdir())) == BLOCKS
    assert [path.stem for path in (folder / "distribution").iterdir()] == [f"{FITS:06d}"]


@pytest.mark.parametrize("upto", range(BLOCKS + 1))
def test_a_run_goes_on_from_every_block_to_the_same_bytes(tmp_path, undisturbed, upto):
    run = work_on(tmp_path / "run", upto)
    assert (run.blocks, run.finished) == (upto, upto == BLOCKS)
    work_on(tmp_path / "run")
    assert without_config(contents(tmp_path / "run")) == without_config(undisturbed)


def test_a_journal_torn_at_every_length_is_recovered(tmp_path, folder, undisturbed, monkeypatch):
    """Killed at the last block's commit, a process leaves its files, both states and part of a line."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # thousands of flushes would only take time
    work_on(tmp_path / "before", BLOCKS - 1)
    before = contents(tmp_path / "before")
    state = f"state/{BLOCKS - 2:06d}.safetensors"
    crashed = {state: before[state], f"{state}.partial": b"half", "config.json.partial": b"{"}
    whole, kept = undisturbed["journal.jsonl"], len(before["journal.jsonl"])
    for length in range(kept, len(whole)):
        for name, content in (crashed | {"journal.jsonl": whole[:length]}).items():
            (folder / name).write_bytes(content)
        (folder / "observed/moments.safetensors").unlink()
        assert Run(folder).blocks == BLOCKS - 1
        work_on(folder)
        assert contents(folder) == undisturbed, f"journal torn after {length} bytes"


@pytest.mark.parametrize("block", [2, 3])
def test_uncommitted_files_of_the_next_block_are_made_again(tmp_path, undisturbed, block):
    folder = tmp_path / "run"
    work_on(folder, block)
    for part in ("draws", "traces", "distribution", "state"):
        (folder / part / f"{block:06d}.safetensors").write_bytes(b"left by a process that was killed")
    work_on(folder)
    assert without_config(contents(folder)) == without_config(undisturbed)


def test_files_of_others_in_a_run_are_left_alone(folder):
    mine = {"notes/figure.safetensors": b"1", "mine.safetensors": b"2", "notes/a.partial": b"3"}
    (folder / "notes").mkdir()
    for name, content in mine.items():
        (folder / name).write_bytes(content)
    work_on(folder)
    assert {name: contents(folder)[name] for name in mine} == mine


def test_a_damaged_line_is_refused_wherever_it_is_hit(folder, undisturbed):
    whole = undisturbed["journal.jsonl"]
    lines = whole.splitlines(keepends=True)
    second = len(lines[0])
    for place in range(second, second + len(lines[1]), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        if journal.decode(bytes(damaged).splitlines(keepends=True)[1]) is None:
            (folder / "journal.jsonl").write_bytes(damaged)
            assert_refused(folder, "journal.jsonl is damaged at line 2", ValueError)


@pytest.mark.parametrize("lines", range(BLOCKS - 1))
def test_a_journal_that_lost_lines_is_refused_and_shards_are_kept(folder, undisturbed, lines):
    """Shards beyond the next block are no left-overs of a killed process: removing them loses draws."""
    kept = undisturbed["journal.jsonl"].splitlines(keepends=True)[:lines]
    (folder / "journal.jsonl").write_bytes(b"".join(kept))
    assert_refused(folder, r"journal.jsonl is damaged|state/\d+.safetensors is missing")


def test_a_lost_line_end_is_refused(folder, undisturbed):
    lines = undisturbed["journal.jsonl"].splitlines(keepends=True)
    lines[-2] = lines[-2][:-1] + b"\x0b"
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    assert_refused(folder, "journal.jsonl|state/000002.safetensors is missing")


def test_a_lost_journal_is_refused(folder):
    (folder / "journal.jsonl").unlink()
    assert_refused(folder, "journal.jsonl is damaged")
    assert_refused(folder, "journal.jsonl is damaged", config={**CONFIG, "seed": 4})


@pytest.mark.parametrize(
    "name",
    [*(f"{part}/{FITS:06d}.safetensors" for part in ("draws", "traces", "distribution")), f"state/{LAST}"],
)
def test_a_missing_or_cut_file_is_refused_by_name(folder, undisturbed, name):
    (folder / name).write_bytes(undisturbed[name][:-1])
    assert_refused(folder, rf"{name} is damaged \(\d+ bytes, \d+ expected\): restore it")
    (folder / name).unlink()
    assert_refused(folder, f"{name} is missing: restore it")


def test_a_changed_byte_in_a_shard_is_noticed_when_it_is_read(folder):
    draws = Run(folder).draws
    _ = draws.variables  # read once while whole: what was right then may be wrong now
    name = "draws/000003.safetensors"
    damaged = bytearray((folder / name).read_bytes())
    damaged[-1] ^= 16
    (folder / name).write_bytes(damaged)
    before = contents(folder)
    for reader in (draws, Run(folder).draws):
        with pytest.raises(RunError, match=f"{name} is damaged .its checksum does not match"):
            _ = reader.variables
        assert len(list(reader.segments[0].read("statistics/energy", slice(None)))) == 2
    (folder / name).unlink()
    with pytest.raises(RunError, match=f"{name} is missing"):
        _ = draws.stats
    assert contents(folder) == {k: v for k, v in before.items() if k != name}


def test_a_changed_byte_in_the_state_is_noticed_before_going_on(tmp_path):
    run = work_on(tmp_path / "run", 3)
    path = tmp_path / "run/state/000002.safetensors"
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    before = contents(tmp_path / "run")
    with pytest.raises(RunError, match=r"state/000002\.safetensors is damaged"):
        run.state()
    with pytest.raises(RunError, match=r"state/000002\.safetensors is damaged"):
        work_on(tmp_path / "run")
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize("content", [b"", b"{", b'{"method": ', b"\xff\xfe", b"[]", b"null"])
def test_a_damaged_configuration_is_refused(folder, content):
    (folder / "config.json").write_bytes(content)
    assert_refused(folder, "config.json is damaged")


@pytest.mark.parametrize("part", ["traces", "distribution"])
def test_a_changed_byte_in_what_was_found_on_the_way_is_noticed_when_it_is_read(folder, part):
    name = f"{part}/{FITS:06d}.safetensors"
    damaged = bytearray((folder / name).read_bytes())
    damaged[-1] ^= 1
    (folder / name).write_bytes(damaged)
    with pytest.raises(RunError, match=f"{name} is damaged .its checksum does not match"):
        getattr(Run(folder), part)


def test_another_configuration_is_refused_with_the_field(folder):
    other = {**CONFIG, "method": {**CONFIG["method"], "scale": 0.25}}
    assert_refused(folder, r"another configuration \(method.scale: 0.5 there, 0.25 now\)", config=other)
    assert_refused(folder, r"extra: None there, 1 now", config={**CONFIG, "extra": 1})


def test_versions_and_devices_may_differ(folder):
    with Writer.open(folder, {**CONFIG, "versions": {"jax": "9"}, "devices": ["x", 4]}) as run:
        assert run.finished
        assert "versions" not in run.config


def test_a_run_without_a_committed_block_may_be_corrected(tmp_path):
    with Writer.open(tmp_path / "run", CONFIG):
        pass
    corrected = {**CONFIG, "seed": 4}
    with Writer.open(tmp_path / "run", corrected) as run:
        assert run.config["seed"] == 4
    assert json.loads((tmp_path / "run/config.json").read_text())["seed"] == 4


@pytest.mark.parametrize(
    "name", ["thesis.tex", "draws/mine.safetensors", "download.partial", "a/b/c", "journal.jsonl", "draws"]
)
def test_a_folder_of_other_files_is_refused_and_left_alone(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    (tmp_path / "lock").write_text("mine too")
    with pytest.raises(RunError, match=f"not a run and not empty .it holds {name}"):
        work_on(tmp_path)
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()} == {name, "lock"}
    assert (tmp_path / "lock").read_text() == "mine too"


def test_what_is_not_a_run_is_said_clearly(tmp_path):
    with pytest.raises(RunError, match=r"is not a run: it has no config\.json"):
        Run(tmp_path)
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(files.StorageError, match="choose another folder"), Writer.open(path, CONFIG):
            pass
    assert contents(tmp_path) == {"file": b"mine"}


def test_a_second_writer_in_this_process_is_refused(tmp_path):
    message = "is being written by another process"
    with Writer.open(tmp_path / "run", CONFIG), pytest.raises(RunError, match=message):
        work_on(tmp_path / "run")
    assert work_on(tmp_path / "run").finished


def test_a_block_is_in_its_place_before_its_line_is_written(tmp_path, monkeypatch):
    """Renamed there whole: a file written in place may be torn while its line is not."""
    events, replace_file, append = [], os.replace, journal.append

    def replaced(source, target) -> None:
        replace_file(source, target)
        events.append(str(target.relative_to(tmp_path)))

    def appended(*arguments) -> int:
        events.append("line")
        return append(*arguments)

    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(journal, "append", appended)
    work_on(tmp_path, 2)
    assert events == [
        "config.json",
        "traces/000000.safetensors",
        "state/000000.safetensors",
        "line",
        "draws/000001.safetensors",
        "traces/000001.safetensors",
        "state/000001.safetensors",
        "line",
    ]


def test_a_run_killed_in_its_first_write_may_be_begun_again(tmp_path, undisturbed):
    (tmp_path / "config.json.partial").write_bytes(b'{"meth')
    work_on(tmp_path)
    assert without_config(contents(tmp_path)) == without_config(undisturbed)


def test_the_lock_names_its_holder_and_no_other(tmp_path):
    (tmp_path / "lock").write_text("1" * 20)  # left by an earlier process with a longer number
    with Writer.open(tmp_path, CONFIG):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


HOLDER = """
import json, sys
from symbayes.draws import Run, Writer
with Writer.open(sys.argv[1], json.loads(sys.argv[2])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_writer_is_refused_until_the_first_is_gone(tmp_path):
    folder = tmp_path / "run"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(folder), json.dumps(CONFIG)], **pipes) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(RunError, match=rf"written by another process \({holder.pid}\): wait for it"):
                work_on(folder)
            assert Run(folder).blocks == 0  # reading needs no lock
        finally:
            holder.send_signal(signal.SIGKILL)
    assert work_on(folder).finished


@pytest.mark.parametrize(("units", "done"), [([2, 0], [False, True]), ([0, 2, 0], [False, True])])
def test_phases_without_units_do_not_keep_a_run_from_its_end(tmp_path, units, done):
    with Writer.open(tmp_path / "run", {"units": units}) as run:
        seen = [run.finished]
        for unit in (1, 2):
            run.commit({}, 0, cursor={"phase": units.index(2), "unit": unit}, state={})
            seen.append(run.finished)
    assert seen == [False, *done]
