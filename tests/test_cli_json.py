"""Every command that prints numbers writes them as JSON, and nothing else to the standard output then."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from symbayes.cli import main
from symbayes.cli.commands import COMMANDS
from symbayes.networks import checkpoints

WITHOUT_NUMBERS = {"data fetch"}
"""It prints the paths of files."""


def leaves(name: str, command: Any) -> Iterator[tuple[str, type]]:
    """The commands below one, by the words that call them."""
    hints = get_type_hints(command, include_extras=True)
    if list(hints) != ["command"]:
        yield name, command
        return
    for inner in get_args(hints["command"]):
        assert get_origin(inner) is Annotated
        made, word = get_args(inner)[:2]
        yield from leaves(f"{name} {word.name}", made)


def options(command: type) -> set[str]:
    """The options of a command, those of its groups too."""
    found = set()
    for name, kind in get_type_hints(command).items():
        found |= options(kind) if dataclasses.is_dataclass(kind) else {name}
    return found


def test_every_command_has_the_option() -> None:
    commands = dict(pair for name, entry in COMMANDS.items() for pair in leaves(name, entry.load()))
    assert {"demo", "sample hmc", "align", "predict", "study list", "data check"} < set(commands)
    assert {name for name, made in commands.items() if "json" not in options(made)} == WITHOUT_NUMBERS


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two perceptrons for digits whose layers have one shape; the second is the first in another order."""
    rng = np.random.default_rng(1)
    order = rng.permutation(10)
    state = {"a.weight": rng.normal(size=(10, 64)), "b.weight": rng.normal(size=(10, 10))}
    state |= {
        "c.weight": rng.normal(size=(10, 10)),
        "a.bias": rng.normal(size=10),
        "b.bias": rng.normal(size=10),
    }
    state["c.bias"] = rng.normal(size=10)
    other = state | {"a.weight": state["a.weight"][order], "a.bias": state["a.bias"][order]}
    other["b.weight"] = state["b.weight"][:, order]
    for name, arrays in (("one", state), ("two", other)):
        np.savez(tmp_path / f"{name}.npz", **arrays)
    return [tmp_path / "one.npz", tmp_path / "two.npz"]


def test_alignment_of_checkpoints(files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["align", *map(str, files), "--network", "mlp", "--hidden", "10", "10", "--json", "-"]
    words += ["--scale", "none"]
    names = ["--names", "hidden1=a", "hidden2=b", "output=c"]
    assert main([*words, *names]) == 0
    printed = capsys.readouterr()
    numbers = json.loads(printed.out)
    moved = numbers["aligned"][str(files[1])]
    assert "transpositions from the order of" in printed.err
    assert 0 < moved["transpositions"]["total"] <= 9
    found, first = checkpoints.read(moved["written"]), np.load(files[0])
    np.testing.assert_allclose(found["a.weight"], first["a.weight"], rtol=1e-4, atol=1e-5)


def test_names_are_written_in_pairs(files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["align", *map(str, files), "--network", "mlp", "--hidden", "10", "10", "--names", "hidden1"]
    assert main(words) == 2
    assert "write --names as ours=theirs, not 'hidden1'" in capsys.readouterr().err
