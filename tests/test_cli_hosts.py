"""The command on many processes: what the how-to shows, on one machine."""

import gc
import os
import random
import re
import shlex
import socket
import subprocess
import sys
import weakref
from typing import Any

import jax
import pytest

import symbayes as sb
from shown_code import ROOT, commands
from symbayes import cli
from symbayes.cli import sample
from symbayes.cli.target import Target
from symbayes.draws import Run
from symbayes.engine.crew import Crew

SAMPLE = ["sample", "hmc", "--step-size", "0.01"]
SMALL = "--trajectory 0.02 --burn-in 2 --draws 3 --examples 60 --hidden 4"


def started(lines: list[str], folder, variables: Any = None) -> list[tuple[int, str]]:
    """The lines, each in a process with variables of its own; exit codes, and what they said."""
    flags = os.environ["XLA_FLAGS"].replace("count=8", "count=1")
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "symbayes", *shlex.split(line)[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**os.environ, "XLA_FLAGS": flags, **own},
        )
        for line, own in zip(lines, variables or [{}, {}], strict=True)
    ]
    said = [process.communicate(timeout=600)[0] for process in processes]
    # JAX's own network layer says that it is connected.
    said = ["\n".join(line for line in text.splitlines() if "[Gloo]" not in line) for text in said]
    return [(process.returncode, text) for process, text in zip(processes, said, strict=True)]


def shown() -> list[str]:
    """The two lines of the how-to, with less to do and a port that is free."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    lines = [line for line in commands(ROOT / "docs/how-to/devices.md") if "--process" in line]
    assert [re.findall(r"\d/\d", line) for line in lines] == [["0/2"], ["1/2"]]
    lines = [re.sub(r"--(trajectory|draws) \S+", "", line) for line in lines]
    return [f"{line.replace('localhost:1234', f'localhost:{port}')} {SMALL}" for line in lines]


def test_the_lines_of_the_how_to_draw_together(tmp_path):
    (code, said), (other_code, other_said) = started(shown(), tmp_path)
    assert (code, other_code) == (0, 0), said + other_said
    assert "Draws(4 chains x 3 draws" in said
    assert "accuracy" in said
    assert other_said == ""
    run = Run(tmp_path / "runs/two")
    assert run.finished
    assert run.config["processes"] == 2


def test_one_of_many_processes_holds_no_more_examples_than_its_devices(monkeypatch, tmp_path):
    whole = []
    made = Target.posterior

    def posterior(self: Target, mesh: Any) -> Any:
        posterior, dataset = made(self, mesh)
        whole.append(weakref.ref(dataset.train.x))
        return posterior, dataset

    class Begun(Exception):
        pass

    def begin(*_: Any, **__: Any) -> None:
        gc.collect()
        assert [held() is None for held in whole] == [True]
        raise Begun

    monkeypatch.setattr(Target, "posterior", posterior)
    monkeypatch.setattr(sample.engine, "run", begin)
    method = sb.HMC(step_size=0.01, trajectory=0.02, chains=2)
    where = sample.Where(store=tmp_path / "run")
    mesh = sb.make_mesh(2, devices=jax.devices()[:2])
    with pytest.raises(Begun):
        sample._draw(method, Target(hidden=(4,)), where, mesh, Crew(2, 1), sample.Output(None), None)


def slurm(number: int, job: int) -> dict[str, str]:
    """What SLURM tells the processes of a job."""
    names = ("JOB_ID", "STEP_NODELIST", "NTASKS", "PROCID", "LOCALID")
    return {f"SLURM_{n}": str(v) for n, v in zip(names, (job, "localhost", 2, number, number), strict=True)}


def test_what_fails_in_one_process_is_said_once(tmp_path):
    """Found by `auto`, and the second has no such data: both end, and the first one says why."""
    line = f"symbayes {shlex.join(SAMPLE)} --hosts auto {SMALL}"
    job = random.randrange(4096)  # which decides the port
    both = [slurm(number, job) for number in (0, 1)]
    (code, said), (other_code, other_said) = started([line, line + " --data nonsense"], tmp_path, both)
    assert code == 1
    assert other_code == 2
    assert said == (
        "symbayes: process 1 failed: no dataset is called 'nonsense'"
        + said.partition("no dataset is called 'nonsense'")[2]
    )
    assert other_said == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--process", "0/2"], "--process numbers the processes of --hosts ADDRESS:PORT: give both"),
        (["--hosts", "node0"], "--hosts is auto, or the address and port of the first process"),
        (["--hosts", "node0:1234"], "--process is the number of this process and of all"),
        (["--hosts", "node0:1234", "--process", "4/4"], "--process is the number of this process and of all"),
        (["--hosts", "auto", "--process", "0/4"], "--process is for --hosts ADDRESS:PORT"),
        (["--hosts", "auto"], "no cluster was detected"),
    ],
)
def test_hosts_that_cannot_be_are_refused(options, words, capsys, monkeypatch, tmp_path):
    def initialize(**options: object) -> None:
        raise ValueError("coordinator_address should be defined.")

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    assert cli.main([*SAMPLE, *options, "--store", str(tmp_path / "run")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
