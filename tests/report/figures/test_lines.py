"""What line plots draw: curves, paths between networks, pruning, quality against size."""

import numpy as np
import pytest

from symbayes.report import figures
from symbayes.report.figures.canvas import log_ticks

from .drawing import draw, points, tick_labels

SEED = np.random.SeedSequence().generate_state(1)[0]


def test_curves_draw_their_points_in_order():
    rng = np.random.default_rng([SEED])
    series = {"a": (np.arange(5.0), rng.normal(size=5)), "b": (rng.random(40), rng.random(40))}
    series["a"][1][2] = np.nan
    drawn = draw(lambda: figures.curves(series, "epoch", "loss (nats)", "Loss"))
    (axes,) = drawn.axes
    first, second = axes.get_lines()
    np.testing.assert_array_equal(points(first), [a[[0, 1, 3, 4]] for a in series["a"]], err_msg=str(SEED))
    np.testing.assert_array_equal(points(second), series["b"])
    assert first.get_color() != second.get_color()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", "loss (nats)")
    assert drawn.legend == ["a", "b"]
    assert axes.get_yscale() == "linear"


def test_a_single_curve_needs_no_legend_and_a_logarithmic_axis_shows_plain_numbers():
    y = np.array([0.01, -1.0, 0.5, 20.0])
    drawn = draw(lambda: figures.curves({"a": (np.arange(4.0), y)}, "x", "y", "T", log_y=True))
    (axes,) = drawn.axes
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(points(line), [[0, 2, 3], [0.01, 0.5, 20]])
    assert drawn.legend == []
    assert axes.get_yscale() == "log"
    labels = tick_labels(axes, "y")
    assert {0.1, 1.0, 10.0} <= {float(text) for text in labels.values()}
    assert all(float(text) == pytest.approx(place) for place, text in labels.items())


def test_points_are_marks_without_lines():
    rng = np.random.default_rng([SEED, 7])
    series = {"few": tuple(rng.random((2, 6))), "many": tuple(rng.random((2, 400)))}
    series["few"][1][3] = np.nan
    drawn = draw(lambda: figures.points(series, "distance", "detection", "T"))
    (axes,) = drawn.axes
    few, many = axes.get_lines()
    np.testing.assert_array_equal(points(few), [np.delete(a, 3) for a in series["few"]], err_msg=str(SEED))
    np.testing.assert_array_equal(points(many), series["many"])
    assert few.get_linestyle() == many.get_linestyle() == "None"
    assert few.get_markersize() > many.get_markersize()
    assert drawn.legend == ["few", "many"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("distance", "detection")


def test_paths_draw_losses_as_they_are_and_accuracies_in_percent():
    rng = np.random.default_rng([SEED, 1])
    t = np.linspace(0, 1, 9)
    series = {n: (t, rng.random(9)) for n in ("raw", "aligned")}
    for of, factor, label in (("loss", 1, "loss (nats)"), ("accuracy", 100, "accuracy (%)")):
        drawn = draw(lambda of=of: figures.barrier_curves(series, of=of))
        (axes,) = drawn.axes
        for line, (_, values) in zip(axes.get_lines(), series.values(), strict=True):
            np.testing.assert_allclose(points(line), [t, factor * values], err_msg=str(SEED))
        assert axes.get_ylabel() == label
        assert axes.get_xlabel() == "t, from one network to the other"
        sign = 1 if of == "loss" else -1
        heights = {
            name: factor * max(0.0, (sign * (v - (1 - t) * v[0] - t * v[-1])).max())
            for name, (_, v) in series.items()
        }
        word = "barrier" if of == "loss" else "drop"
        assert drawn.legend == [f"{name}: {word} {height:.3g}" for name, height in heights.items()]


def test_pruning_goes_from_all_weights_on_the_left_to_few_on_the_right():
    rng = np.random.default_rng([SEED, 2])
    share = np.array([1.0, 0.5, 0.1, 0.02, 0.0])
    series = {n: (share, rng.random(5)) for n in ("by sigma", "by signal")}
    drawn = draw(lambda: figures.pruning_curve(series))
    (axes,) = drawn.axes
    for line, (_, accuracy) in zip(axes.get_lines(), series.values(), strict=True):
        np.testing.assert_allclose(points(line), [100 * share[:4], 100 * accuracy[:4]], err_msg=str(SEED))
    left, right = axes.get_xlim()
    assert left >= 100 > 2 >= right > 0
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "weights kept (%, log scale)"
    assert axes.get_ylabel() == "accuracy (%)"
    assert drawn.legend == list(series)
    assert all(float(text) == pytest.approx(at) for at, text in tick_labels(axes, "x").items())


def test_the_frontier_has_better_agreement_higher_and_reads_back_its_numbers():
    rng = np.random.default_rng([SEED, 3])
    size = np.array([3000.0, 200.0, 50_000.0])
    agreement, variation = rng.uniform(0.3, 0.99, 3), rng.uniform(0.01, 0.6, 3)
    given = {"Gaussian": (size, agreement, variation), "mean": (200, 0.9, 0.2), "all": (1e6, 1.0, 0.0)}
    drawn = draw(lambda: figures.frontier(given))
    top, bottom = drawn.axes
    order = np.argsort(size)
    floor = 1e-3  # below a thousandth nothing is told from zero
    for axes, values in ((top, 1 - agreement), (bottom, variation)):
        gaussian, mean, everything = axes.get_lines()
        np.testing.assert_allclose(points(gaussian), [size[order], values[order]], err_msg=str(SEED))
        assert len(points(mean)[0]) == 1
        np.testing.assert_array_equal(points(everything), [[1e6], [floor]])
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert top.yaxis_inverted()
    assert not bottom.yaxis_inverted()
    for place, text in tick_labels(top, "y").items():
        assert float(text.removeprefix("≥")) == pytest.approx(100 * (1 - place))
    for place, text in tick_labels(bottom, "y").items():
        assert float(text.removeprefix("≤")) == pytest.approx(place)
    units = {"k": 1e3, "M": 1e6}
    for place, text in tick_labels(bottom, "x").items():
        assert float(text.rstrip("kM")) * units.get(text[-1], 1) == pytest.approx(place)
    assert drawn.legend == list(given)
    assert (top.get_ylabel(), bottom.get_ylabel()) == ("agreement (%)", "total variation")
    assert bottom.get_xlabel() == "bits stored (log scale)"


@pytest.mark.parametrize("low", [0.0537, 0.3, 1.1, 7.0, 450.0])
@pytest.mark.parametrize("times", [1.7, 2.6, 8.0, 50.0, 3e3, 1e6])
def test_a_logarithmic_axis_has_some_ticks_and_not_many(low: float, times: float) -> None:
    ticks = log_ticks(low, low * times).tick_values(low, low * times)
    assert 2 <= np.sum((ticks >= low) & (ticks <= low * times)) <= 9
