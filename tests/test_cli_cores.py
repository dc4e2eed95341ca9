"""A device for each core: what a command tells JAX before it is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from symbayes.cli import cores

SET = ("JAX_NUM_CPU_DEVICES", "SYMBAYES_CORES", "XLA_FLAGS")


@pytest.fixture(autouse=True)
def _before_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SET:
        monkeypatch.setenv(name, "")  # so that what is set here is put back afterwards
        monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "jax")
    monkeypatch.setattr(cores, "available_cores", lambda: 5)


def told(*arguments: str) -> str | None:
    cores.use_all_cores(arguments)
    return os.environ.get("JAX_NUM_CPU_DEVICES")


def test_all_cores_are_used() -> None:
    assert told("demo") == "5"


@pytest.mark.parametrize(("words", "expected"), [("2", "2"), ("1", "1"), ("0", "5"), ("many", "5")])
def test_a_variable_says_how_many(monkeypatch: pytest.MonkeyPatch, words: str, expected: str) -> None:
    monkeypatch.setenv("SYMBAYES_CORES", words)
    assert told("demo") == expected


def test_what_jax_was_told_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told("sample", "hmc", "--hosts", "auto") is None
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
    assert told("demo") is None
    monkeypatch.delenv("XLA_FLAGS")
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "3")
    assert told("demo") == "3"
    monkeypatch.delenv("JAX_NUM_CPU_DEVICES")
    monkeypatch.setitem(sys.modules, "jax", sys)
    assert told("demo") is None


def test_a_command_spreads_its_chains(tmp_path: Path) -> None:
    line = "sample ensemble --chains 4 --epochs 1 --hidden 3 --no-estimate --store run"
    # This interpreter's, since the command itself may not be on the path.
    made = subprocess.run(
        [sys.executable, "-m", "symbayes", *line.split()],
        cwd=tmp_path,
        env=os.environ | {"SYMBAYES_CORES": "2", "XLA_FLAGS": "--xla_backend_optimization_level=0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert json.loads((tmp_path / "run/config.json").read_text())["devices"][1] == 2
