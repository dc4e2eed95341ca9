"""The README is run: its Python, its commands, its links."""

import contextlib
import dataclasses
import io
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest

import shown_code
import symbayes as sb
from shown_code import ROOT
from symbayes import cli

README = ROOT / "README.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("readme")


@pytest.fixture(scope="module")
def shown() -> list[str]:
    lines = [line for line in shown_code.commands(README) if line.startswith("symbayes ")]
    assert {line.split()[1] for line in lines} == {"sample", "evaluate", "report", "align", "compact", "data"}
    return lines


@pytest.fixture(scope="module")
def names(folder: Path) -> dict[str, Any]:
    """What the Python block leaves behind."""
    (block,) = shown_code.blocks(README, "python")
    assert shown_code.small(block) != block
    namespace: dict[str, Any] = {}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(shown_code.small(block), "README.md", "exec"), namespace)
    return {**namespace, "printed": printed.getvalue()}


def test_python_runs(names: dict[str, Any]) -> None:
    assert names["predictive"].probs.shape == (4, 6, 360, 10)
    assert names["predictive"].mutual_information.shape == (360,)
    assert all(word in names["printed"] for word in ("ensemble", "ceiling: half of hmc", "agreement"))


def test_commands_sample_what_the_python_does(shown: list[str], names: dict[str, Any]) -> None:
    (block,) = shown_code.blocks(README, "python")
    methods = {name: re.search(rf"^{name} = (sb\..*)$", block, re.MULTILINE) for name in ("hmc", "ensemble")}
    for line in (line for line in shown if "sample" in line):
        command = shown_code.parse(line).command
        text = methods[line.split()[2]]
        assert text
        expected = eval(text[1], {"sb": sb})
        assert vars(command.method) == dataclasses.asdict(expected)
        assert command.target.posterior()[0].describe() == names["posterior"].describe()
        assert command.where.store is None


@pytest.mark.usefixtures("blank_figures")
def test_other_commands_run(
    shown: list[str], names: dict[str, Any], folder: Path, monkeypatch, capsys
) -> None:
    """On the runs of the Python block, which stand in for those that `sample` would make."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command replaces it
    for name in ("hmc", "ensemble"):
        Path(f"runs/{name}-digits").symlink_to(name)
    for line in (line for line in shown if "sample" not in line):
        told = [] if "data" in line else ["--data", "digits"]
        assert cli.main([*shlex.split(line)[1:], *told]) == 0, line
    assert Path("runs/page.html").read_text().lower().startswith("<!doctype html>")
    # Names of runs may be broken into lines.
    printed = re.sub(r"[│\s]+", " ", capsys.readouterr().out)
    assert all(word in printed for word in ("ceiling: half of", "page.html", "embedded"))


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in (README, ROOT / "CONTRIBUTING.md"):
        text = "\n".join([*re.findall(r"`([^`\n]+)`", page.read_text()), *shown_code.commands(page)])
        named = set(re.findall(r"^make ([a-z]+)", text, re.MULTILINE))
        assert named
        assert named <= targets


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(name: str) -> None:
    for link in shown_code.links(ROOT / name):
        assert (ROOT / link).exists(), link


def test_house_has_the_folders_that_the_readme_names() -> None:
    house = README.read_text().partition("## Where things are")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([^`]+)`", house, re.MULTILINE)
    assert len(named) > 10
    for place in named:
        assert (ROOT / place).exists(), place


def test_citation_has_the_version_of_the_package() -> None:
    def version(name: str, pattern: str) -> str:
        found = re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)
        assert found
        return found[1]

    package = sb.__version__
    assert version("CITATION.cff", r"^version: (.*)$") == package
    assert version("CHANGELOG.md", r"^## \[(.*?)\]") == package
