"""The page about runs, made from two real ones and opened in a real browser."""

import base64
import dataclasses
import html
import io
import re
from pathlib import Path
from unittest.mock import patch

import matplotlib.figure
import numpy as np
import pytest
from figures.drawing import recorded
from figures.screen import check_texts
from PIL import Image

import symbayes as sb
from symbayes import evaluate
from symbayes.draws.forward import Forward
from symbayes.engine import open_run
from symbayes.report.runs import _drawn as drawn_words
from symbayes.report.runs import _traces as run_traces
from symbayes.report.runs import named


@pytest.fixture(scope="module")
def report(runs: dict[str, Path], digits: sb.data.Dataset) -> sb.Report:
    return sb.Report.of(runs, digits)


@dataclasses.dataclass(frozen=True)
class Written:
    """The page, and the matplotlib figures that were drawn for it."""

    html: str
    drawings: list[matplotlib.figure.Figure]


@pytest.fixture(scope="module")
def written(report: sb.Report) -> Written:
    with recorded() as drawings:
        page = report.html()
    return Written(page, drawings)


def test_the_page_shows_what_the_metrics_say(
    report: sb.Report, written: Written, runs: dict[str, Path]
) -> None:
    page = html.unescape(written.html)
    accuracy = evaluate.accuracy(report.predictives["hmc"].mean, report.data.test.y)
    assert f"{accuracy:.1%}" in page
    kernels = open_run(runs["hmc"]).draws.variables["params"]["hidden1"]["kernel"]
    assert evaluate.rhat(kernels).max() > 1
    assert "hmc, weights" in page
    assert "hmc, test predictions" in page
    assert "2 chains of 8 draws" in page
    assert "3 chains of 1 draw " in page


def test_masks_over_a_network_are_told_as_such_and_shown_by_its_training(runs: dict[str, Path]) -> None:
    """Their energy is that of the weights, the same for all of them."""
    hmc = open_run(runs["hmc"])
    losses = {"loss": np.linspace(2, 1, 12).reshape(2, 6)}
    masks = dataclasses.replace(
        hmc, draws=dataclasses.replace(hmc.draws, forward=Forward("keyed")), traces=losses
    )
    assert drawn_words(masks) == "2 trained networks, each with 8 random masks,"
    assert [figure.title for figure in run_traces("masks", masks)] == ["Training of masks"]
    assert run_traces("hmc", hmc)[0].title.startswith("Energy")


def by_hand(path: Path, x: np.ndarray) -> np.ndarray:
    """The predictive mean (point, class) of a stored run of an MLP with one hidden layer, in plain numpy."""
    params = open_run(path).draws.variables["params"]

    def layer(name: str, inputs: np.ndarray) -> np.ndarray:
        kernel, bias = (np.asarray(params[name][part], np.float64) for part in ("kernel", "bias"))
        return np.einsum("...ni,...ij->...nj", inputs, kernel) + bias[..., None, :]

    outputs = layer("output", np.maximum(layer("hidden1", x.reshape(len(x), -1).astype(np.float64)), 0))
    powers = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).mean(axis=(0, 1))


def pictures(html_page: str) -> list[np.ndarray]:
    """The grey pictures in the section about the least certain images, in the order in which they stand."""
    parts = html_page.split("<section")[1:]
    (section,) = [part for part in parts if "least certain" in part.split("</h2>")[0]]
    drawings = re.findall(r'<image[^>]*href="data:image/png;base64,([^"]+)"', section)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(d))).convert("L")) / 255 for d in drawings]


def found_among(picture: np.ndarray, x: np.ndarray) -> int:
    """Which of the images is shown, each stretched from black to white."""
    low, high = x.min(axis=(1, 2), keepdims=True), x.max(axis=(1, 2), keepdims=True)
    distances = np.abs((x - low) / (high - low) - picture).max(axis=(1, 2))
    nearest, second = np.argsort(distances)[:2]
    assert distances[nearest] < 1.5 / 255 < distances[second]
    return int(nearest)


def test_the_least_sure_images_are_those_of_largest_entropy(
    written: Written, runs: dict[str, Path], digits: sb.data.Dataset
) -> None:
    x, y = np.asarray(digits.test.x)[..., 0], np.asarray(digits.test.y)
    means = {name: by_hand(path, x) for name, path in runs.items()}
    entropy = {name: -np.sum(p * np.log(p), axis=1) for name, p in means.items()}
    shown = [found_among(picture, x) for picture in pictures(written.html)]
    assert len(set(shown)) == 8
    values, rounding = entropy["hmc"][shown], 1e-5
    assert np.all(np.diff(values) <= rounding)
    assert values[-1] >= np.delete(entropy["hmc"], shown).max() - rounding
    # The test could not tell the runs apart if they doubted the same images.
    assert set(shown) != set(np.argsort(-entropy["ensemble"])[:8].tolist())

    (drawing,) = [drawing for drawing in written.drawings if any(axes.images for axes in drawing.axes)]
    for row, index in enumerate(shown):
        picture, bars = drawing.axes[2 * row : 2 * row + 2]
        assert picture.get_xlabel() == f"true: {digits.class_names[y[index]]}"
        for container, name in zip(bars.containers, runs, strict=True):
            heights = [bar.get_height() for bar in container]
            np.testing.assert_allclose(heights, 100 * means[name][index], atol=0.01)


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


def test_many_runs_and_metrics_are_summed_up_in_a_sentence(report: sb.Report) -> None:
    hmc = report.runs["hmc"]
    many = dataclasses.replace(report, runs={f"run-{i}": hmc for i in range(9)})
    with patch.object(sb.Report, "sections", return_value=[]):
        page = many.html()
    assert "run-0, run-1, run-2 and 6 more on digits" in page
    assert "9 runs on 360 test examples." in page
    told = [evaluate.METRICS[0]] * 20
    with (
        patch.object(sb.Report, "sections", return_value=[]),
        patch.object(type(report.comparison), "told", told),
    ):
        assert len(re.findall(r"accuracy \d", report.html())) == len(report.runs) * 8


def test_runs_are_named_by_their_folders_and_by_paths_where_names_repeat() -> None:
    assert list(named([Path("a/hmc"), Path("b/sgld")])) == ["hmc", "sgld"]
    assert list(named([Path("a/hmc"), Path("b/hmc")])) == ["a/hmc", "b/hmc"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1300])
def test_the_page_works_in_a_browser(written: Written, browser, tmp_path: Path, width: int) -> None:
    path = tmp_path / "page.html"
    path.write_text(written.html)
    context = browser.new_context(viewport={"width": width, "height": 800})
    tab = context.new_page()
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.goto(path.as_uri())
    figures = tab.locator("figure svg")
    assert figures.count() == len(written.drawings)
    for i in range(figures.count()):
        box = figures.nth(i).bounding_box()
        assert box is not None
        assert 0 < box["width"] <= width
        assert box["height"] > 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    check_texts(tab, smallest=9)
    context.close()
    assert troubles == []
