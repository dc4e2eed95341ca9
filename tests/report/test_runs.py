"""The page about runs, made from two real ones and opened in a real browser."""

import dataclasses
import html
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import symbayes as sb
from symbayes import evaluate
from symbayes.engine import open_run
from symbayes.report import figures
from symbayes.report.predictions import CALIBRATION, UNSURE, prediction_sections
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


def test_the_least_sure_images_are_those_of_largest_entropy(
    report: sb.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    original = figures.uncertain_images
    monkeypatch.setattr(figures, "uncertain_images", lambda *given: drawn.append(given) or original(*given))
    sections = prediction_sections(report.predictives, report.reference, report.data)
    assert [section.title for section in sections] == [CALIBRATION, UNSURE]
    ((images, probs, labels, _),) = drawn
    entropies = scipy.stats.entropy(report.predictives["hmc"].probs.mean(axis=(0, 1)), axis=-1)
    x, y = (np.asarray(part) for part in (report.data.test.x, report.data.test.y))
    unsure = [int(np.flatnonzero((x == image).all(axis=(1, 2, 3)))[0]) for image in images]
    shown = entropies[unsure]
    assert len(set(unsure)) == 8
    assert (np.diff(shown) <= 0).all(), "the least sure first"
    assert (np.delete(entropies, unsure) <= shown[-1]).all(), "no image that is left out is less sure"
    np.testing.assert_array_equal(labels, y[unsure])
    for name, predictive in report.predictives.items():
        np.testing.assert_array_equal(probs[name], predictive.mean[unsure])


def test_a_report_takes_draws_in_memory(tiny: sb.Posterior, digits: sb.data.Dataset) -> None:
    draws = sb.run(sb.DeepEnsemble(epochs=1, chains=2), tiny, progress=False)
    data = dataclasses.replace(digits, train=digits.train[:128])
    made = sb.Report.of({"memory": draws}, data, metrics=["accuracy"])
    assert made.comparison.columns == ["accuracy"]
    with pytest.raises(ValueError, match="the reference 'other' is not among the runs memory"):
        sb.Report.of({"memory": draws}, data, reference="other")


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
