"""Two processes with two devices each, on one machine, against one process with four.

``SYMBAYES_KILL_SEED`` repeats the moments at which processes were killed in an earlier test.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import symbayes as sb
from draws.folders import results
from symbayes import trees
from symbayes.draws import Run

from . import together

MINUTE = 60


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """Where processes find what others have compiled."""
    return tmp_path_factory.mktemp("programs")


@contextlib.contextmanager
def processes(folder: Path, programs: Path, deed: str = "draw"):
    """Two processes that draw both runs into the folder."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    flags = os.environ["XLA_FLAGS"].replace("device_count=8", "device_count=2")
    kept = {"MIN_COMPILE_TIME_SECS": "0", "MIN_ENTRY_SIZE_BYTES": "0"}
    environment = {
        **os.environ,
        "XLA_FLAGS": flags,
        "JAX_COMPILATION_CACHE_DIR": str(programs),
        **{f"JAX_PERSISTENT_CACHE_{name}": value for name, value in kept.items()},
    }
    # Open for as long as the processes write, which is beyond this function.
    outputs = [open(folder / f"output-{number}", "w+") for number in (0, 1)]  # noqa: SIM115
    started = [
        subprocess.Popen(
            [sys.executable, together.__file__, str(number), "2", str(port), str(folder), deed],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        for number, output in enumerate(outputs)
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
        for output in outputs:
            output.close()


def outputs(folder: Path) -> str:
    return "\n".join((folder / f"output-{number}").read_text()[-4000:] for number in (0, 1))


def finished(folder: Path, programs: Path, deed: str = "draw") -> list[dict]:
    """Both processes to their end, and what they were told."""
    with processes(folder, programs, deed) as started:
        codes = [process.wait(timeout=10 * MINUTE) for process in started]
    assert codes == [0, 0], outputs(folder)
    return [json.loads((folder / f"told-{number}.json").read_text()) for number in (0, 1)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory, programs) -> tuple[Path, list[dict]]:
    """What two processes drew, and what they were told."""
    folder = tmp_path_factory.mktemp("pair")
    return folder, finished(folder, programs, "everything")


@pytest.fixture(scope="module")
def single(tmp_path_factory) -> Path:
    """The same runs of this process, on four of its devices."""
    folder = tmp_path_factory.mktemp("single")
    for name in together.METHODS:
        together.draw(name, folder / name, jax.devices()[:4])
    return folder


def assert_close(one: Path, other: Path) -> None:
    """Draws, statistics and observations are equal to rounding."""
    ours, theirs = Run(one), Run(other)
    assert ours.finished
    assert theirs.finished
    for mine, yours in (
        (trees.flatten(ours.draws.variables), trees.flatten(theirs.draws.variables)),
        (ours.draws.observed["moments"], theirs.draws.observed["moments"]),
        (ours.traces, theirs.traces),
    ):
        assert mine.keys() == yours.keys()
        for name, array in yours.items():
            np.testing.assert_allclose(mine[name], array, rtol=2e-3, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("name", together.METHODS)
def test_two_processes_draw_what_one_draws(pair, single, name):
    folder, told = pair
    assert told[0][name] == told[1][name]
    assert_close(folder / name, single / name)
    config = Run(folder / name).config
    assert (config["devices"][1], config["processes"]) == (4, 2)
    # One block: before rounding has had time to grow.
    first = [next(iter(Run(at / name).draws.blocks(1))).variables for at in (folder, single)]
    for leaf, array in trees.flatten(first[1]).items():
        np.testing.assert_allclose(trees.flatten(first[0])[leaf], array, rtol=1e-4, atol=1e-5)


def test_draws_in_memory_are_those_of_a_folder(pair):
    for told in pair[1]:
        assert told["memory"] == told["hmc"]


def test_what_two_processes_left_is_used_on_one(pair, single, tmp_path):
    """Predictions, comparison and symmetries."""
    for name in ("hmc", "ensemble"):
        shutil.copytree(pair[0] / name, tmp_path / name)  # since predictions are kept in the folder
    test = sb.data.load("digits").test[:20]
    predictive = sb.open(tmp_path / "hmc").predict(test.x)
    np.testing.assert_allclose(predictive.mean, sb.open(single / "hmc").predict(test.x).mean, atol=1e-3)
    compared = sb.compare({name: tmp_path / name for name in ("hmc", "ensemble")}, "hmc", test)
    assert 0 <= compared.rows["ensemble"]["agreement"] <= 1


def test_a_full_disk_and_a_ctrl_c_stop_both_and_the_run_goes_on_to_the_same_bytes(pair):
    folder, (first, second) = pair
    assert first["stumbling"][0].startswith("StorageError: ")
    assert second["stumbling"][0].startswith("Elsewhere: process 0 ended the run: ")
    assert "the disk is full: make room" in second["stumbling"][0]
    for told in (first, second):
        assert told["stumbling"][1].startswith("Stopped: stopped after ")
        assert told["stumbling"][2] == "done"
    assert results(folder / "stumbling") == results(folder / "hmc")


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("seed", "ValueError: process 1 disagrees with process 0 on the seed: start all"),
        ("method", "ValueError: process 1 disagrees with process 0 on the method: start all"),
        ("data", "ValueError: process 1 disagrees with process 0 on the data: start all"),
        ("version", "ValueError: process 1 disagrees with process 0 on the versions: start all"),
        ("groups", "ValueError: process 1 disagrees with process 0 on the chains at once: start all"),
        ("folder", "RunError: process 1 does not see what process 0 writes to "),
        ("other run", "RunError: "),
    ],
)
def test_what_processes_do_not_agree_on_is_refused_once(pair, case, words):
    folder, (first, second) = pair
    assert first["refusals"][case].startswith(words)
    reason = first["refusals"][case].partition(": ")[2]
    assert second["refusals"][case] == f"Elsewhere: process 0 ended the run: {reason}"
    assert first["refusals"]["written"] == second["refusals"]["written"] == "False"
    assert not any((folder / "private-0").iterdir())
    assert not list(folder.rglob(".symbayes-*"))


def test_meshes_that_do_not_fit_are_refused_by_each(pair):
    for told in pair[1]:
        assert told["refusals"]["axes"].startswith("ValueError: 2 chains do not divide among the 4 devices")
        assert told["refusals"]["left out"].startswith("ValueError: the mesh has no device of process 2: ")
        assert told["refusals"]["diverged"].startswith("Diverged: ensemble diverged in block 0")


def test_many_messages_are_heard_and_removed(pair):
    count = 2 * together.SWEEP + 3
    assert [told["messages"] for told in pair[1]] == [count * (count - 1) // 2] * 2


def committed(folder: Path) -> int:
    journals = [folder / name / "journal.jsonl" for name in together.METHODS]
    return sum(path.read_bytes().count(b"\n") for path in journals if path.exists())


def killed(folder: Path, programs: Path, blocks: int, delay: float, number: int) -> None:
    """Kill one process when so many blocks are committed; the other ends within a minute, and says why."""
    with processes(folder, programs) as started:
        begin = time.monotonic()
        while committed(folder) < blocks and all(process.poll() is None for process in started):
            assert time.monotonic() - begin < 10 * MINUTE, outputs(folder)
            time.sleep(0.002)
        time.sleep(delay)
        started[number].send_signal(signal.SIGKILL)
        other = started[1 - number].wait(timeout=MINUTE)
    assert started[number].returncode in (-signal.SIGKILL, 0)
    if started[number].returncode:
        assert other != 0
        said = (folder / f"output-{1 - number}").read_text()
        assert "the connection to another process was lost" in said or "another task died" in said


def test_killed_processes_end_in_the_same_bytes(pair, single, programs, tmp_path):
    """One of two is killed during HMC or the ensemble; then both go on, or one alone."""
    seed = int(os.environ.get("SYMBAYES_KILL_SEED", random.randrange(2**32)))
    print(f"SYMBAYES_KILL_SEED={seed}")
    moments = random.Random(seed)
    undisturbed, _ = pair
    total = committed(undisturbed)
    both, alone = tmp_path / "both", tmp_path / "alone"
    both.mkdir()
    blocks, number = moments.randint(1, total - 1), moments.randint(0, 1)
    killed(both, programs, blocks, moments.uniform(0, 0.02), number)
    print(f"process {number} killed at {blocks} of {total} blocks, {committed(both)} committed")
    shutil.copytree(both, alone)
    finished(both, programs)
    for name in together.METHODS:
        assert results(both / name) == results(undisturbed / name)
        together.draw(name, alone / name, jax.devices()[:4])
        assert_close(alone / name, single / name)
