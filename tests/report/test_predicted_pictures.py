"""From a likelihood with positions to the page: pixels that are predicted, as numbers and as labels."""

import dataclasses
import html

import numpy as np
import pytest

import symbayes as sb
from symbayes.analyse import Bounds
from symbayes.report import figures
from symbayes.report.predictions import CALIBRATION, UNSURE

SMALL = Bounds(draws=8, weights=100, examples=20, samples=2, pairs=1, steps=3)
HMC = sb.HMC(step_size=2e-3, trajectory=1e-2, burn_in=2, draws=5, chains=2, adapt=False)


@pytest.fixture(scope="module")
def halves() -> sb.data.Dataset:
    whole = sb.data.load("digits-halves")
    return dataclasses.replace(whole, train=whole.train[:60], test=whole.test[:25])


def captured(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, np.ndarray]]:
    grids: list[dict[str, np.ndarray]] = []
    original = figures.picture_grid

    def grid(columns, **rest):
        grids.append(dict(columns))
        return original(columns, **rest)

    monkeypatch.setattr(figures, "picture_grid", grid)
    return grids


def test_pixels_as_real_targets(halves: sb.data.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = sb.Posterior(
        sb.networks.make("mlp", hidden=(4,), **halves.sizes),
        sb.likelihoods.Gaussian(0.2),
        sb.priors.Normal(0.5),
        halves.train,
    )
    draws = sb.run(HMC, posterior, progress=False)
    report = sb.Report.of({"hmc": draws}, halves, bounds=SMALL)
    grids = captured(monkeypatch)
    page = html.unescape(report.html())
    assert "On 25 examples with 8x4 positions each." in page
    assert [s.title for s in report.sections()][-2:] == [CALIBRATION, UNSURE]
    grid = grids[0]
    assert list(grid) == ["input", "true", "mean", "sd", "draw 1", "draw 2", "draw 3"]
    predictive = report.predictives["hmc"]
    order = np.argsort(-(predictive.std**2).mean(axis=(1, 2, 3)), kind="stable")[:8]
    np.testing.assert_array_equal(grid["input"], np.asarray(halves.test.x)[order])
    y = np.asarray(halves.test.y)
    np.testing.assert_allclose(grid["true"], (y[order] - y.min()) / (y.max() - y.min()), rtol=1e-6)
    np.testing.assert_allclose(grid["sd"], predictive.std[order, ..., 0])
    np.testing.assert_allclose(grid["draw 1"], predictive.means[0, 0, order], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(grid["draw 3"], predictive.means[1, -1, order], rtol=1e-5, atol=1e-6)
    numbers = report.numbers(symmetry=False)["comparison"]
    assert numbers["hmc"]["RMSE"] == pytest.approx(np.sqrt(np.mean((predictive.mean - y) ** 2)))
    assert 0 < numbers["ceiling: half of hmc"]["TV"] < 1
    assert report.symmetry["hmc"].group.log10_permutations > 0


def test_pixels_as_labels(halves: sb.data.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    def bright(part: sb.data.Examples) -> sb.data.Examples:
        return sb.data.Examples(part.x, (np.asarray(part.y)[..., 0] > 0.5).astype(np.int32))

    data = dataclasses.replace(
        halves,
        **{part: bright(getattr(halves, part)) for part in ("train", "validation", "test")},
        classes=2,
        class_names=("dark", "bright"),
    )
    assert data.sizes == {"outputs": (8, 4, 2)}
    posterior = sb.Posterior(
        sb.networks.make("mlp", hidden=(4,), **data.sizes),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(0.5),
        data.train,
    )
    draws = sb.run(HMC, posterior, progress=False)
    report = sb.Report.of({"hmc": draws}, data, bounds=SMALL)
    grids = captured(monkeypatch)
    page = html.unescape(report.html())
    assert "with 8x4 positions each" in page
    predictive, y = report.predictives["hmc"], np.asarray(data.test.y)
    hits = predictive.probs.mean(axis=(0, 1)).argmax(axis=-1) == y
    assert report.comparison.rows["hmc"]["accuracy"] == hits.mean()
    assert list(grids[0]) == ["input", "true", "most probable", "entropy", "draw 1", "draw 2", "draw 3"]
    order = np.argsort(-predictive.entropy.mean(axis=(1, 2)), kind="stable")[:8]
    np.testing.assert_array_equal(grids[0]["true"], y[order])
    np.testing.assert_array_equal(grids[0]["most probable"], predictive.mean[order].argmax(axis=-1))


def test_grids_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"columns have \[2, 3\] pictures; give as many in each"):
        figures.picture_grid({"a": np.zeros((2, 4, 4)), "b": np.zeros((3, 4, 4))}, (), "t", "c")
    with pytest.raises(ValueError, match=r"column 'a' has shape \(2, 4, 4, 2\)"):
        figures.picture_grid({"a": np.zeros((2, 4, 4, 2))}, (), "t", "c")
