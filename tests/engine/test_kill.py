"""Real processes, killed at random moments, end in the bytes of an undisturbed run.

``SYMBAYES_KILLS`` says how often to kill (2), ``SYMBAYES_KILL_SCALE`` what to draw (small, or demo),
``SYMBAYES_KILL_SEED`` repeats the moments of an earlier test.  The processes that are killed share what the
first of them compiled, in a folder of their own, so that the undisturbed run is compiled apart from them.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from draws.folders import results
from symbayes.draws import Run

from . import drawing

KILLS = int(os.environ.get("SYMBAYES_KILLS", "2"))
SCALE = os.environ.get("SYMBAYES_KILL_SCALE", "small")
pytestmark = pytest.mark.level

PATIENCE = 600
"""Seconds without a new block after which a process counts as stuck."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    """Both runs, drawn in this process: it has the same devices and flags as those it starts."""
    folder = tmp_path_factory.mktemp("undisturbed")
    drawing.draw(folder, SCALE)
    return folder


def committed(folder: Path) -> int:
    """How many blocks of both runs are committed; a torn last line does not count."""
    journals = [folder / name / "journal.jsonl" for name in ("hmc", "ensemble")]
    return sum(path.read_bytes().count(b"\n") for path in journals if path.exists())


def interrupted(folder: Path, blocks: int, delay: float, number: int) -> int:
    """Start the process, send it a signal `delay` seconds after `blocks` are committed; its status."""
    command = [sys.executable, drawing.__file__, str(folder), SCALE]
    env = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(folder / "compiled")}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        begin = time.monotonic()
        while process.poll() is None and committed(folder) < blocks:
            assert time.monotonic() - begin < PATIENCE, "the process does not get on"
            time.sleep(0.002)
        time.sleep(delay)
        if process.poll() is None:
            process.send_signal(number)
        output, _ = process.communicate()
        assert process.returncode in (0, -number, drawing.STOPPED), output.decode()
        return process.returncode


def test_killed_runs_end_in_the_same_bytes(undisturbed, tmp_path):
    seed = int(os.environ.get("SYMBAYES_KILL_SEED", random.randrange(2**32)))
    print(f"SYMBAYES_KILL_SEED={seed}")
    moments = random.Random(seed)
    total, seen = committed(undisturbed), []
    # The first is asked to stop, all others are killed; one after the other they get through both runs.
    for attempt in range(KILLS + 1):
        done = committed(tmp_path)
        share = (total - done) // (KILLS + 1 - attempt)
        target = done + moments.randint(1, max(1, share))
        number = signal.SIGKILL if attempt else signal.SIGINT
        status = interrupted(tmp_path, target, moments.uniform(0, 0.03), number)
        seen.append((number.name, status, committed(tmp_path)))
        print(f"{number.name} at {target} of {total} blocks: status {status}, {seen[-1][2]} committed")
        if status == 0:
            break
    assert seen[0][1] == drawing.STOPPED
    assert any(status == -signal.SIGKILL for _, status, _ in seen)
    assert interrupted(tmp_path, total + 1, 0.0, signal.SIGKILL) == 0
    for name in ("hmc", "ensemble"):
        assert Run(tmp_path / name).finished
        assert results(tmp_path / name) == results(undisturbed / name)
