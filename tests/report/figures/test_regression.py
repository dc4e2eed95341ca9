"""What the figures of real targets draw."""

import numpy as np
from scipy.stats import binom

from symbayes.report import figures
from symbayes.report.figures.regression import BARS, BINS, MOST

from .drawing import draw, outlines, points

SEED = np.random.SeedSequence().generate_state(1)[0]


def some(count: int, rng: np.random.Generator) -> figures.Predicted:
    mean, half = rng.normal(size=count), rng.uniform(0.5, 2, count)
    return figures.Predicted(mean + rng.normal(size=count), mean, mean - half, mean + half)


def test_means_and_intervals_stand_above_their_true_values():
    rng = np.random.default_rng([SEED])
    series = {"a": some(30, rng), "b": some(3 * MOST, rng)}
    drawn = draw(lambda: figures.predicted_against_true(series, 0.9, "price"))
    (axes,) = drawn.axes
    first, diagonal, second, _ = axes.get_lines()
    x, y = points(first)
    order = np.argsort(series["a"].mean)
    np.testing.assert_allclose(x, series["a"].true[order])
    np.testing.assert_allclose(y, series["a"].mean[order])
    bars = np.array(axes.collections[0].get_segments())
    np.testing.assert_allclose(bars[:, 0, 1], series["a"].low[order])
    np.testing.assert_allclose(bars[:, 1, 1], series["a"].high[order])
    assert len(points(second)[0]) == MOST
    np.testing.assert_array_equal(*points(diagonal))
    assert drawn.legend == ["a", "b"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("true price", "predicted price")


def test_targets_outside_their_intervals_are_counted_and_marked():
    rng = np.random.default_rng([SEED, 1])
    shown = some(80, rng)
    drawn = draw(lambda: figures.sorted_intervals("a", shown, 0.9))
    (axes,) = drawn.axes
    outside = (shown.true < shown.low) | (shown.true > shown.high)
    assert drawn.legend == ["mean and interval", f"target ({(~outside).sum()})", f"outside ({outside.sum()})"]
    means, _, missed = axes.get_lines()
    assert (np.diff(points(means)[1]) >= 0).all()
    np.testing.assert_allclose(np.sort(points(missed)[1]), np.sort(shown.true[outside]))
    assert f"{BARS} of 500" in figures.sorted_intervals("a", some(500, rng), 0.9).caption


def test_transforms_are_counted_relative_to_what_is_expected():
    rng = np.random.default_rng([SEED, 2])
    values = {"level": rng.random(400), "narrow": rng.choice([0.0, 1.0], 100)}
    drawn = draw(lambda: figures.pit_histogram(values))
    (axes,) = drawn.axes
    steps = [patch.get_data() for patch in outlines(axes)]
    for (_, given), (heights, edges, _) in zip(values.items(), steps, strict=True):
        bins = BINS if len(given) == 400 else 10
        counts = np.histogram(given, np.linspace(0, 1, bins + 1))[0]
        np.testing.assert_allclose(heights, counts * bins / len(given))
        np.testing.assert_allclose(edges, np.linspace(0, 1, bins + 1))
    assert drawn.legend == ["level", "narrow"]
    (band,) = [patch for patch in axes.patches if patch not in outlines(axes)]
    box = band.get_extents().transformed(axes.transData.inverted())
    expected = binom.ppf([0.025, 0.975], 400, 1 / BINS) * BINS / 400
    np.testing.assert_allclose([box.y0, box.y1], expected, atol=1e-6)
