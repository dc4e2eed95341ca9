"""What the reliability diagram and the histogram of entropies draw."""

import numpy as np
import pytest
from scipy.stats import binomtest

from symbayes.report import figures

from .drawing import draw, outlines, points, tick_labels

SEED = np.random.SeedSequence().generate_state(1)[0]


def test_reliability_draws_each_bin_at_its_confidence_and_accuracy():
    rng = np.random.default_rng([SEED])
    count = rng.integers(1, 60, (2, 10)).astype(float)
    correct = rng.binomial(count.astype(int), 0.7)
    confidence = (np.arange(10) + rng.uniform(0.1, 0.9, (2, 10))) / 10
    count[1, 3] = 0  # an empty bin is not drawn
    curves = {n: (confidence[i], correct[i] / np.maximum(count[i], 1), count[i]) for i, n in enumerate("ab")}
    drawn = draw(lambda: figures.reliability(curves))
    top, bottom = drawn.axes
    *series, diagonal = top.get_lines()
    assert [len(points(line)[0]) for line in series] == [10, 9], SEED
    for index, line in enumerate(series):
        filled = count[index] > 0
        x, y = points(line)
        np.testing.assert_allclose(x, confidence[index, filled], atol=0.01)
        np.testing.assert_allclose(y, correct[index, filled] / count[index, filled])
        segments = np.array(top.collections[index].get_segments())
        intervals = [
            binomtest(int(k), int(n)).proportion_ci(0.95, method="wilson")
            for k, n in zip(correct[index, filled], count[index, filled], strict=True)
        ]
        np.testing.assert_allclose(segments[:, :, 1], [(i.low, i.high) for i in intervals], atol=1e-4)
        np.testing.assert_allclose(segments[:, 0, 0], x)
        steps = outlines(bottom)[index].get_data()
        np.testing.assert_array_equal(steps.values, count[index])
        np.testing.assert_allclose(steps.edges, np.arange(11) / 10)
    np.testing.assert_array_equal(points(diagonal), [[0, 1], [0, 1]])
    assert drawn.legend == ["a", "b", "perfectly calibrated"]
    assert (top.get_ylabel(), bottom.get_xlabel()) == ("accuracy (%)", "confidence (%)")
    assert bottom.get_ylabel() == "predictions"
    assert bottom.get_yscale() == "log"
    for labels in (tick_labels(top, "y"), tick_labels(bottom, "x")):
        assert all(float(text) == pytest.approx(100 * place) for place, text in labels.items())
        assert len(labels) == 6
    assert top.get_xlim() == bottom.get_xlim()
    assert top.get_ylim()[0] < 0 < 1 < top.get_ylim()[1]


def test_entropies_are_counted_once_each_on_one_axis():
    rng = np.random.default_rng([SEED, 1])
    values = {"inside": rng.exponential(0.3, 200), "outside": rng.random(80) + 0.5, "none": np.empty(0)}
    values["inside"][0] = -1e-9  # rounding
    drawn = draw(lambda: figures.entropy_histogram(values))
    (axes,) = drawn.axes
    histograms = [patch.get_data() for patch in outlines(axes)]
    assert len(histograms) == 2
    for (name, entropies), steps in zip(values.items(), histograms, strict=False):
        expected, _ = np.histogram(np.maximum(entropies, 0), steps.edges)
        np.testing.assert_array_equal(steps.values, expected, err_msg=f"{name}, {SEED}")
        assert steps.values.sum() == entropies.size
    np.testing.assert_array_equal(histograms[0].edges, histograms[1].edges)
    assert axes.get_xlabel() == "predictive entropy (nats)"
    assert axes.get_ylabel() == "number of inputs"
    assert drawn.legend == [f"{n} (mean {values[n].mean():.3f})" for n in ("inside", "outside")]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] < 1
    linear = draw(lambda: figures.entropy_histogram(values, log_count=False))
    assert linear.axes[0].get_yscale() == "linear"
