"""What the histograms of R-hat and of sigma draw."""

import numpy as np
import pytest

from symbayes.report import figures

from .drawing import draw, outlines, points, tick_labels

SEED = np.random.SeedSequence().generate_state(1)[0]


def test_rhat_has_a_panel_per_space_and_shares_that_sum_to_100():
    rng = np.random.default_rng([SEED])
    weight = {n: 1 + rng.exponential(0.2, 300) for n in ("raw", "aligned")}
    weight["raw"][:3] = np.inf, np.nan, 0.9995
    function = {"raw": 1 + rng.exponential(0.01, 90)}
    drawn = draw(lambda: figures.rhat_histograms(weight, function))
    assert len(drawn.axes) == 2
    for axes, series in zip(drawn.axes, (weight, function), strict=True):
        histograms = [patch.get_data() for patch in outlines(axes)]
        assert len(histograms) == len(series)
        for (name, values), steps in zip(series.items(), histograms, strict=True):
            known = values[~np.isnan(values)]
            assert steps.values.sum() == pytest.approx(100)
            inner = steps.edges[1:-1]  # the outer bins also take what lies beyond them
            for edge in inner[[3, 20, -4]]:
                below = steps.values[: np.flatnonzero(steps.edges == edge)[0]].sum()
                expected = 100 * np.mean(known - 1 < edge)
                assert below == pytest.approx(expected), (name, edge, SEED)
        limits = [points(line)[0][0] for line in axes.get_lines()]
        np.testing.assert_allclose(limits, [0.01, 0.1])
        assert axes.get_xscale() == "log"
        for place, text in tick_labels(axes, "x").items():
            assert float(text.removeprefix("≤")) == pytest.approx(1 + place)
    top, bottom = drawn.axes
    assert (top.get_ylabel(), bottom.get_ylabel()) == ("weights (%)", "predictions (%)")
    assert bottom.get_xlabel() == "R-hat (log scale of R-hat − 1)"
    share = {n: 100 * np.mean(v[~np.isnan(v)] < 1.1) for n, v in weight.items()}
    named = [f"{n}: {share[n]:.1f}% below 1.1" for n in weight]
    assert drawn.legend == [*named, f"raw: {100 * np.mean(function['raw'] < 1.1):.1f}% below 1.1"]
    titles = [axes.get_legend().get_title().get_text() for axes in drawn.axes]
    assert titles == ["weight space", "function space"]


def test_rhat_without_predictions_has_one_panel():
    drawn = draw(lambda: figures.rhat_histograms({"raw": np.array([1.0, 1.2])}, {}))
    (axes,) = drawn.axes
    assert axes.get_xlabel().startswith("R-hat")
    assert drawn.legend == ["raw: 50.0% below 1.1"]


def test_sigmas_are_shares_of_the_weights_that_move():
    rng = np.random.default_rng([SEED, 1])
    values = {"raw": rng.lognormal(0, 1, 400), "aligned": rng.lognormal(-1, 0.5, 150)}
    values["raw"][:40] = 0
    drawn = draw(lambda: figures.sigma_histograms(values))
    (axes,) = drawn.axes
    histograms = [patch.get_data() for patch in outlines(axes)]
    assert len(histograms) == 2
    for sigma, steps in zip(values.values(), histograms, strict=True):
        moving = sigma[sigma > 0]
        expected = 100 * np.histogram(moving, steps.edges)[0] / moving.size
        np.testing.assert_allclose(steps.values, expected, err_msg=str(SEED))
        assert steps.values.sum() == pytest.approx(100)
    assert drawn.legend == [f"{n} (median {np.median(v[v > 0]):.3g})" for n, v in values.items()]
    assert axes.get_xlabel() == "sigma of a weight over the draws (log scale)"
    assert axes.get_ylabel() == "weights (%)"
    assert axes.get_xscale() == "log"
    assert axes.get_ylim()[0] == 0
    labels = tick_labels(axes, "x")
    assert len(labels) >= 2
    assert all(float(text) == pytest.approx(place, rel=1e-3) for place, text in labels.items())
