import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.report import figures
from symbayes.report.figures.calibration import _heights, _wilson
from symbayes.report.figures.canvas import finite, pen
from symbayes.report.figures.compact import _panel
from symbayes.report.figures.trace import _running_mean

REFUSED = (ValueError, TypeError)  # TypeError where shapes are checked before the function runs


def colours(svg: str) -> set[str]:
    return {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}", svg)}


def test_every_figure_is_well_formed_and_depends_on_its_data(all_figures, draw_all):
    for figure, changed in zip(all_figures(0), draw_all(4), strict=True):
        assert ElementTree.fromstring(figure.svg).tag.endswith("svg")
        assert figure.svg != changed.svg


def test_figures_are_drawn_the_same_again_and_leave_settings_of_matplotlib_alone(all_figures, draw_all):
    with matplotlib.rc_context({"font.size": 31, "xtick.major.size": 17, "axes.facecolor": "red"}):
        before = dict(matplotlib.rcParams)
        drawn = draw_all(0)
        assert dict(matplotlib.rcParams) == before
    assert drawn == all_figures(0)


def test_pens_differ_by_colour_and_dash_and_repeat_only_after_28():
    assert len({(pen(i).color, pen(i).linestyle) for i in range(28)}) == 28
    assert len({pen(i).color for i in range(7)}) == len({pen(i).marker for i in range(7)}) == 7


@given(st.text(max_size=60), st.text(max_size=60))
@settings(deadline=None, max_examples=15)
def test_any_name_can_be_drawn(first, second):
    x = np.arange(3.0)
    figure = figures.curves(
        {"$\\frac": (x, x), f"_{first}": (x, x), f"b{second}": (x, x)}, first, second, "T"
    )
    assert ElementTree.fromstring(figure.svg).tag.endswith("svg")
    assert "<script" not in figure.svg


def test_a_hostile_name_stays_out_of_the_markup():
    name = "--><script>alert(1)</script>"
    p = np.full((4, 2), 0.5)
    for figure in (
        figures.curves(
            {name: (np.arange(3.0), np.arange(3.0)), "b": (np.arange(3.0), np.ones(3))}, name, name, "T"
        ),
        figures.predictive_comparison(p, p, (name, name)),
        figures.uncertain_images(np.zeros((4, 2, 2)), {name: p}, np.zeros(4, int), [name, name]),
    ):
        assert "<script" not in figure.svg


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=30))
@settings(deadline=None, max_examples=50)
def test_finite_keeps_what_is_finite_and_counts_the_rest(values):
    (kept,), dropped = finite(np.array(values, dtype=np.float32))
    assert kept.tolist() == [
        v for v in np.array(values, np.float32).astype(float).tolist() if abs(v) < np.inf
    ]
    assert dropped == len(values) - len(kept)


def test_values_that_are_not_finite_are_owned_up_to():
    x = np.arange(5.0)
    broken = np.array([1, np.nan, 2, np.inf, 3])
    assert figures.curves({"a": (x, broken)}, "x", "y", "T", "Look.").caption == (
        "Look. 2 values that are not finite were left out."
    )
    assert "left out" not in figures.curves({"a": (x, x)}, "x", "y", "T").caption
    assert "2 values" in figures.entropy_histogram({"a": broken}).caption
    assert "One value" in figures.traces(np.array([[1.0, np.nan, 2.0]])).caption
    assert "One value" in figures.reliability({"a": (x / 5, np.where(x == 1, np.nan, 0.5), x + 1)}).caption
    assert (
        "One value"
        in figures.predictive_comparison(
            np.array([[0.5, 0.5], [np.nan, 1.0]]), np.full((2, 2), 0.5), ("a", "b")
        ).caption
    )
    # The accuracy of a bin without predictions is no missing value.
    assert "left out" not in figures.reliability({"a": (x / 5, np.where(x == 0, np.nan, 0.5), x)}).caption


def test_logarithm_leaves_out_what_is_not_positive():
    x = np.arange(4.0)
    assert "One value" in figures.curves({"a": (x, x)}, "x", "y", "T", log_y=True).caption


@pytest.mark.parametrize(
    "figure",
    [
        lambda: figures.reliability({}),
        lambda: figures.reliability({"a": (np.full(3, np.nan), np.full(3, np.nan), np.zeros(3))}),
        lambda: figures.curves({}, "x", "y", "T"),
        lambda: figures.curves({"a": (np.zeros(0), np.zeros(0))}, "x", "y", "T", log_y=True),
        lambda: figures.entropy_histogram({}),
        lambda: figures.entropy_histogram({"a": np.array([np.nan])}),
        lambda: figures.rhat_histograms({}, {"raw": np.array([np.nan, np.nan])}),
        lambda: figures.predictive_comparison(np.zeros((0, 3)), np.zeros((0, 3)), ("a", "b")),
        lambda: figures.uncertain_images(np.zeros((0, 8, 8)), {}, np.zeros(0, int), ["0"]),
        lambda: figures.traces(np.full((2, 5), np.nan), np.full((2, 5), np.nan)),
        lambda: figures.traces(np.full((2, 1), np.nan)),
        lambda: figures.traces(np.zeros((2, 0))),
        lambda: figures.sigma_histograms({}),
        lambda: figures.sigma_histograms({"a": np.zeros(3)}),
        lambda: figures.barrier_curves({}),
        lambda: figures.barrier_curves({"a": (np.zeros(0), np.zeros(0))}),
        lambda: figures.pruning_curve({}),
        lambda: figures.pruning_curve({"a": (np.zeros(1), np.ones(1))}),
        lambda: figures.frontier({}),
        lambda: figures.pit_histogram({}),
        lambda: figures.pit_histogram({"a": np.array([np.nan])}),
        lambda: figures.predicted_against_true({}, 0.9),
        lambda: figures.sorted_intervals("a", figures.Predicted(*np.full((4, 3), np.nan)), 0.9),
        lambda: figures.frontier({"a": (0, 0.5, 0.5), "b": (np.nan, 1.0, 0.0)}),
    ],
)
def test_nothing_to_draw_still_gives_a_figure(figure):
    drawn = figure()
    assert ElementTree.fromstring(drawn.svg).tag.endswith("svg")
    assert drawn.alt


@pytest.mark.parametrize(
    "figure",
    [
        lambda: figures.entropy_histogram({"certain": np.zeros(5), "rounded": np.array([-1e-9, 0.0])}),
        lambda: figures.predictive_comparison(np.eye(3), np.eye(3), ("a", "b")),
        lambda: figures.predictive_comparison(np.eye(3), np.eye(3)[::-1], ("a", "b")),
        lambda: figures.traces(np.full((1, 3), 7.0), np.ones((1, 3)), np.full((1, 2), 7.0)),
        lambda: figures.traces(np.arange(40.0).reshape(20, 2)),
        lambda: figures.uncertain_images(
            np.zeros((1, 2, 2, 3)), {"a": np.full((1, 2), 0.5)}, np.ones(1, int), ["x", "y"]
        ),
        lambda: figures.rhat_histograms({"raw": np.ones(4)}, {"raw": np.array([0.99, np.inf])}),
        lambda: figures.reliability({"a": (np.ones(1), np.ones(1), np.ones(1))}),
        lambda: figures.sigma_histograms({"a": np.full(4, 0.3), "b": np.zeros(2)}),
        lambda: figures.barrier_curves({"a": (np.array([0.0, 1.0]), np.zeros(2))}),
        lambda: figures.pruning_curve({"a": (np.full(1, 0.1), np.full(1, 0.5))}),
        lambda: figures.frontier({"a": (10, 0.5, 0.5)}),
        lambda: figures.frontier({"a": (10, 1.0, 0.0)}),
        lambda: figures.frontier({"a": (10, 0.0, 1.0), "b": (np.full(2, 10), np.zeros(2), np.ones(2))}),
    ],
)
def test_degenerate_data_can_be_drawn(figure):
    assert pen(0).color.lower() in colours(figure().svg) or pen(2).color.lower() in colours(figure().svg)


def test_rhat_shares_count_infinity_as_not_converged():
    values = np.array([0.999, 1.0, 1.05, 1.2, np.inf, np.nan])
    figure = figures.rhat_histograms({"raw": values, "aligned": np.full(8, 1.02)}, {"raw": np.array([1.3])})
    assert "raw 60.0% below 1.1" in figure.alt
    assert "aligned 100.0% below 1.1" in figure.alt
    assert "In function space: raw 0.0% below 1.1" in figure.alt
    assert "One value" in figure.caption


def test_comparison_gives_agreement_and_total_variation():
    p = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.0, 0.4, 0.6], [1.0, 0.0, 0.0]])
    q = np.array([[0.7, 0.3, 0.0], [0.6, 0.4, 0.0], [0.0, 0.4, 0.6], [1.0, 0.0, 0.0]])
    caption = figures.predictive_comparison(p, q, ("a", "b")).caption
    assert "75.00% of the points" in caption
    assert "mean total variation is 0.1500" in caption


@given(st.integers(0, 2**31))
@settings(deadline=None, max_examples=30)
def test_running_mean_skips_what_is_missing(seed):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random((2, 9)) < 0.3, np.nan, rng.random((2, 9)))
    running = _running_mean(values)
    for chain in range(2):
        for end in range(1, 10):
            known = values[chain, :end][~np.isnan(values[chain, :end])]
            expected = known.mean() if known.size else np.nan
            np.testing.assert_allclose(running[chain, end - 1], expected)


@given(st.integers(1, 500), st.data())
@settings(deadline=None, max_examples=30)
def test_wilson_interval_agrees_with_scipy(count, data):
    from scipy.stats import binomtest

    correct = data.draw(st.integers(0, count))
    low, high = _wilson(np.array([correct / count]), np.array([count]))
    expected = binomtest(correct, count).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose([low[0], high[0]], [expected.low, expected.high], atol=1e-4)


@given(st.integers(1, 20), st.integers(0, 2**31))
@settings(deadline=None, max_examples=30)
def test_every_bin_keeps_its_count_even_with_confidence_on_its_upper_edge(bins, seed):
    rng = np.random.default_rng(seed)
    edges = np.arange(bins + 1) / bins
    inside = edges[:-1] + rng.uniform(0.01, 0.99, bins) / bins
    confidence = np.where(rng.random(bins) < 0.5, inside, edges[1:])
    count = rng.integers(1, 50, bins)
    np.testing.assert_array_equal(_heights(confidence, count, edges), count)


def test_burn_in_outside_the_frame_is_named():
    draws = np.random.default_rng(0).normal(100, 1, (2, 50))
    descent = np.stack([np.linspace(4321, 100, 20)] * 2)
    assert "above the frame, at energies up to 4,321 nats" in figures.traces(draws, None, descent).caption
    assert "above the frame" not in figures.traces(draws, None, draws[:, :10]).caption


def test_barriers_and_drops_are_named():
    t = np.linspace(0, 1, 5)
    hill = np.array([0.1, 0.5, 0.9, 0.5, 0.1])
    losses = figures.barrier_curves({"raw": (t, hill), "aligned": (t, np.full(5, 0.1))})
    assert "raw: barrier 0.8 and aligned: barrier 0" in losses.alt
    assert "<!-- raw: barrier 0.8 -->" in losses.svg
    accuracies = figures.barrier_curves({"raw": (t, 1 - hill)}, of="accuracy")
    assert "raw: drop 80" in accuracies.caption
    unknown = figures.barrier_curves({"raw": (t, np.where(t == 0.5, np.nan, hill))})
    assert "raw: barrier unknown" in unknown.caption
    assert "One value" in unknown.caption


def test_sigmas_next_to_zero_are_counted_and_medians_named():
    raw = np.array([0.0, 1e-30, 1.0, 2.0, 3.0, np.nan])
    figure = figures.sigma_histograms({"raw": raw, "aligned": np.ones(2)})
    assert "raw (median 2) and aligned (median 1)" in figure.alt
    assert "2 weights that hardly moved" in figure.caption
    assert "One value" in figure.caption


def test_the_frontier_tells_every_point_apart_and_98_from_99_percent():
    many = {f"m{i}": (10.0 + i, 0.5, 0.1) for i in range(12)}
    svg = figures.frontier(many).svg
    assert all(f"<!-- m{i} -->" in svg for i in range(12))
    panel = matplotlib.figure.Figure().add_subplot()
    handles = _panel(panel, {name: (np.ones(1), np.ones(1)) for name in many})
    assert len({(line.get_color(), line.get_marker()) for line in handles.values()}) == 12
    points = {
        "low": (10, 0.98, 0.02),
        "high": (np.array([20, 30]), np.array([0.99, 1.0]), np.array([0.01, 0.0])),
    }
    figure = figures.frontier(points)
    for tick in ("98", "99", "≥99.9", "0.02", "0.01", "≤0.001"):
        assert f"<!-- {tick} -->" in figure.svg
    assert "high: 20 bits, 99.0% and 0.010; 30 bits, 100.0% and 0.000." in figure.alt


def test_one_draw_per_chain_is_an_ensemble_and_one_chain_makes_no_claim():
    assert "members" in figures.traces(np.arange(5.0)[:, None]).title
    assert "One chain cannot" in figures.traces(np.arange(5.0)[None]).caption


def test_many_classes_show_the_likeliest_and_always_the_true_one():
    probs = np.zeros((1, 100))
    probs[0, :50] = 0.02
    names = [f"c{i}" for i in range(100)]
    figure = figures.uncertain_images(np.eye(4)[None], {"a": probs}, np.array([99]), names)
    # Outlined text leaves its words in comments.
    assert "<!-- c99 -->" in figure.svg
    assert "<!-- c98 -->" not in figure.svg
    assert len(re.findall(r"<!-- c\d+ -->", figure.svg)) == 10


@pytest.mark.parametrize(
    "figure",
    [
        lambda: figures.reliability({"a": (np.ones(3), np.ones(2), np.ones(3))}),
        lambda: figures.curves({"a": (np.ones(3), np.ones(2))}, "x", "y", "T"),
        lambda: figures.traces(np.ones(3)),
        lambda: figures.traces(np.ones((2, 3)), np.ones((2, 4))),
        lambda: figures.traces(np.ones((2, 3)), None, np.ones((3, 4))),
        lambda: figures.predictive_comparison(np.ones((2, 3)), np.ones((3, 3)), ("a", "b")),
        lambda: figures.barrier_curves({"a": (np.linspace(0, 1, 3), np.ones(2))}),
        lambda: figures.barrier_curves({"a": (np.array([0.5, 1.0]), np.ones(2))}),
        lambda: figures.pruning_curve({"a": (np.ones(3), np.ones(2))}),
        lambda: figures.pruning_curve({"a": (np.array([0.1]), np.array([97.0]))}),
        lambda: figures.frontier({"a": (np.ones(3), np.ones(2), np.ones(3))}),
        lambda: figures.frontier({"a": (10, 97.0, 0.1)}),
        lambda: figures.uncertain_images(np.ones((2, 3)), {}, np.zeros(2, int), ["0"]),
        lambda: figures.uncertain_images(np.ones((2, 3, 3, 2)), {}, np.zeros(2, int), ["0"]),
        lambda: figures.uncertain_images(np.ones((2, 3, 3)), {}, np.array([0, 1]), ["0"]),
        lambda: figures.uncertain_images(np.ones((2, 3, 3)), {"a": np.ones((2, 2))}, np.zeros(2, int), ["0"]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(figure):
    with pytest.raises(REFUSED):
        figure()


def test_rows_of_dots_have_names_and_leave_out_what_is_not_finite() -> None:
    figure = figures.dots({"here": {"a": 1.0, "b": float("nan")}}, "distance", "T", mark=("limit", 0.5))
    assert figure.alt.startswith("Dots of distance: a 1; b nan")
    assert "One value that is not finite" in figure.caption
    drawn = ElementTree.fromstring(figure.svg)
    assert drawn is not None
    assert figures.dots({}, "distance", "T").svg


def test_logarithmic_axes_leave_out_what_is_not_positive() -> None:
    x = np.array([-1.0, 1.0, 10.0])
    assert "One value" in figures.curves({"a": (x, x)}, "x", "y", "T", log_x=True).caption
    assert "One value" in figures.curves({"a": (x, x)}, "x", "y", "T", log_y=True).caption
    assert "value" not in figures.curves({"a": (x, x)}, "x", "y", "T").caption


def test_figures_as_pdf_when_asked() -> None:
    x = np.arange(3.0)
    with figures.as_pdf() as made:
        figure = figures.curves({"a": (x, x)}, "x", "y", "T")
    figures.curves({"a": (x, 2 * x)}, "x", "y", "T")
    assert list(made) == [figure.svg]
    assert made[figure.svg].startswith(b"%PDF-")
    with figures.as_pdf() as again:
        figures.curves({"a": (x, x)}, "x", "y", "T")
    assert again == made, "the same drawing gives the same bytes"
