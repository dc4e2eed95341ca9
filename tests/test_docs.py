"""What the documentation shows is run: the example of a method, and every Python block of the pages."""

import dataclasses
import doctest
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import shown_code
import symbayes as sb
from conformance.compilations import compilations
from conformance.play import play
from draws.folders import results
from engine.runs import Crash, crash_at
from shown_code import ROOT
from symbayes.draws import Run
from symbayes.engine import Method

DOCS = ROOT / "docs"

STANDARD_ERRORS = 4.5
"""A correct mean is further off than this in 1 of 150,000 trials."""


@pytest.fixture(scope="module")
def skeleton() -> ModuleType:
    """The example, imported from its path."""
    spec = importlib.util.spec_from_file_location("skeleton_method", DOCS / "examples/skeleton_method.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def test_example_is_a_method(skeleton: ModuleType) -> None:
    method = skeleton.Langevin(step_size=1e-3)
    assert isinstance(method, Method)
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.chains = 3
    for name in (field.name for field in dataclasses.fields(method)):
        with pytest.raises(ValueError, match=name):
            dataclasses.replace(method, **{name: -1})


def test_example_follows_the_law_of_its_discretised_chain(skeleton: ModuleType, linear: Any) -> None:
    """Mean of the posterior, and the covariance (A - e A^2/4)^-1, within Monte-Carlo error.

    At this step the variances differ from the posterior's by up to a third, which the test would see.
    """
    posterior, mean, covariance = linear
    step_size = 8e-3
    precision = np.linalg.inv(covariance)
    expected_covariance = np.linalg.inv(precision - step_size / 4 * precision @ precision)
    method = skeleton.Langevin(step_size, thin=25, burn_in=20, draws=1500, chains=8)
    drawn = play(method, posterior).draws
    weights = [drawn["variables/params/output/bias"], drawn["variables/params/output/kernel"][..., 0]]
    centred = np.concatenate(weights, axis=-1).astype(np.float64) - mean
    first, second = np.tril_indices(3)
    series = np.concatenate([centred, centred[..., first] * centred[..., second]], axis=-1)
    expected = np.concatenate([np.zeros(3), expected_covariance[first, second]])
    errors = series.std(axis=(0, 1)) / np.sqrt(sb.evaluate.ess_bulk(series))
    assert np.abs((series.mean(axis=(0, 1)) - expected) / errors).max() < STANDARD_ERRORS
    exact = np.concatenate([np.zeros(3), covariance[first, second]])
    assert np.abs((series.mean(axis=(0, 1)) - exact) / errors).max() > STANDARD_ERRORS


def test_size_of_a_block_changes_no_draw_of_the_example(skeleton: ModuleType, tiny: sb.Posterior) -> None:
    """Nor does going through stored arrays after every block; and other settings compile nothing."""
    method = skeleton.Langevin(1e-4, thin=6, burn_in=2, draws=5, chains=2)
    expected = play(method, tiny)
    for block_steps in (18, 4, 1):
        played = play(method, tiny, block_steps=block_steps, through_arrays=True)
        assert played.blocks != expected.blocks
        for name, value in expected.draws.items():
            np.testing.assert_array_equal(played.draws[name], value, err_msg=name)
    with compilations() as compiled:
        play(dataclasses.replace(method, step_size=2e-4, thin=3), tiny, seed=1)
    assert compiled == []


@pytest.mark.parametrize("block_steps", [12, 4], ids=["draws in a block", "blocks in a draw"])
def test_example_resumes_to_the_same_bytes(
    skeleton: ModuleType, tiny: sb.Posterior, tmp_path: Path, monkeypatch: Any, block_steps: int
) -> None:
    method = skeleton.Langevin(1e-4, thin=6, burn_in=2, draws=5, chains=2)
    sb.run(method, tiny, store=tmp_path / "whole", block_steps=block_steps)
    with crash_at(monkeypatch, 2, committed=False), pytest.raises(Crash):
        sb.run(method, tiny, store=tmp_path / "run", block_steps=block_steps)
    assert Run(tmp_path / "run").blocks == 2
    sb.run(method, tiny, store=tmp_path / "run", block_steps=block_steps)
    assert results(tmp_path / "run") == results(tmp_path / "whole")


def example(name: str) -> ModuleType:
    """A script of the documentation, imported from its path."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"examples/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("blank_figures")
def test_a_csv_file_becomes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = example("csv_regression").main(
        tmp_path, sb.HMC(0.02, trajectory=0.04, burn_in=2, draws=6, chains=2)
    )
    assert "RMSE" in page.read_text()
    assert "progress" in (tmp_path / "diabetes.csv").read_text()
    assert "2 chains x 6 draws" in capsys.readouterr().out


PAGES = sorted(DOCS.rglob("*.md"))
named = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))


@named
@pytest.mark.usefixtures("blank_figures")
def test_python_on_the_pages_runs(
    page: Path, skeleton: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks of a page in one namespace, as a reader would type them, with small numbers, few digits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(DOCS / "examples")
    namespace: dict[str, Any] = {"__name__": page.stem.replace("-", "_")}
    for number, block in enumerate(shown_code.blocks(page, "python"), start=1):
        code = shown_code.with_few_digits(shown_code.small(block))
        exec(compile(code, f"{page.name}, block {number}", "exec"), namespace)


@named
def test_sessions_on_the_pages_give_what_they_show(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = "".join(shown_code.blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@named
def test_links_and_commands_of_the_pages(page: Path) -> None:
    for link in shown_code.links(page):
        assert (page.parent / link).exists(), link
    for command in shown_code.commands(page):
        if command.startswith("symbayes") and not command.startswith("symbayes --"):
            shown_code.parse(command)


def test_every_page_is_in_the_contents() -> None:
    listed = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def test_generated_pages_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, page in module.PAGES.items():
        assert (DOCS / name).read_text() == page(), f"{name} is not what `python docs/generate.py` makes"


def test_reference_names_every_method_option_and_metric() -> None:
    methods, metrics = ((DOCS / f"reference/{name}.md").read_text() for name in ("methods", "metrics"))
    for method in sb.METHODS.values():
        section = methods.partition(f"## {method.__name__}\n")[2].partition("\n## ")[0]
        for field in dataclasses.fields(method):
            assert f"`{field.name}`" in section, (method, field.name)
    functions = [name for name in sb.evaluate.__all__ if name.islower()]
    for name in functions:
        assert f"`{name}(" in metrics, name
