"""The page about runs, made from two real ones and opened in a real browser."""

import dataclasses
import html
from pathlib import Path

import numpy as np
import pytest

import symbayes as sb
from symbayes import evaluate
from symbayes.engine import open_run
from symbayes.report.runs import named


@pytest.fixture(scope="module")
def report(runs: dict[str, Path], digits: sb.data.Dataset) -> sb.Report:
    return sb.Report.of(runs, digits)


def test_the_page_shows_what_the_metrics_say(report: sb.Report, runs: dict[str, Path]) -> None:
    page = html.unescape(report.html())
    accuracy = evaluate.accuracy(report.predictives["hmc"].mean, report.data.test.y)
    assert f"{accuracy:.1%}" in page
    kernels = open_run(runs["hmc"]).draws.variables["params"]["hidden1"]["kernel"]
    assert evaluate.rhat(kernels).max() > 1
    assert "hmc, weights" in page
    assert "hmc, test predictions" in page
    assert "2 chains of 8 draws" in page
    assert "3 chains of 1 draw " in page


def test_the_least_sure_images_are_those_of_largest_entropy(report: sb.Report) -> None:
    section = next(s for s in report.sections() if s.title == "What is it least sure of?")
    entropy = report.predictives["hmc"].entropy
    unsure = np.argsort(-entropy)[:8]
    labels = [report.data.class_names[label] for label in np.asarray(report.data.test.y)[unsure]]
    (figure,) = section.items
    positions = [figure.svg.index(f"true: {label}") for label in dict.fromkeys(labels)]
    assert all(position > 0 for position in positions)


def test_a_run_on_other_data_is_refused(runs: dict[str, Path], digits: sb.data.Dataset) -> None:
    other = dataclasses.replace(digits, train=digits.train[:100])
    with pytest.raises(sb.RunError, match="was not conditioned on the training part of digits"):
        sb.Report.of(runs, other)


def test_runs_are_named_by_their_folders_and_by_paths_where_names_repeat() -> None:
    assert list(named([Path("a/hmc"), Path("b/sgld")])) == ["hmc", "sgld"]
    assert list(named([Path("a/hmc"), Path("b/hmc")])) == ["a/hmc", "b/hmc"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_works_in_a_browser(report: sb.Report, browser, tmp_path: Path, width: int) -> None:
    path = report.write(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": width, "height": 800})
    tab = context.new_page()
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.goto(path.as_uri())
    figures = tab.locator("figure svg")
    assert figures.count() == sum(
        isinstance(item, sb.report.contents.Figure) for section in report.sections() for item in section.items
    )
    for i in range(figures.count()):
        box = figures.nth(i).bounding_box()
        assert box is not None
        assert 0 < box["width"] <= width
        assert box["height"] > 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    context.close()
    assert troubles == []
