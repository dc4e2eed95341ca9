"""Figures on axes of one's own."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import symbayes as sb
from symbayes.posterior import CategoricalPredictive, GaussianPredictive

RNG = np.random.default_rng(np.random.SeedSequence().entropy % 2**32)


@pytest.fixture
def ax():
    return Figure().add_subplot()


@pytest.fixture(scope="module")
def reals():
    means = RNG.normal(size=(2, 20, 60, 1))
    return GaussianPredictive(means, 0.5), RNG.normal(size=60)


@pytest.fixture(scope="module")
def classes():
    return CategoricalPredictive(RNG.dirichlet(np.ones(4), (2, 10, 90))), RNG.integers(0, 4, 90)


@pytest.mark.parametrize("name", ["coverage", "pit", "predicted"])
def test_real_targets_are_drawn_on_the_axes_given_and_again_in_another_colour(ax, reals, name):
    draw = getattr(sb.plot, name)
    assert draw(*reals, ax=ax, label="first") is ax
    draw(*reals, ax=ax, label="second")
    handles, labels = ax.get_legend_handles_labels()
    assert labels == ["first", "second"]
    assert handles[0].get_color() != handles[1].get_color()
    assert ax.get_xlabel()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == labels


def test_a_coverage_is_what_it_says(ax, reals):
    predictive, y = reals
    sb.plot.coverage(predictive, y, ax=ax)
    line = ax.get_lines()[0]
    levels, inside = line.get_data()
    low, high = predictive.interval(float(levels[45]))
    assert inside[45] == pytest.approx(np.mean((y >= low[:, 0]) & (y <= high[:, 0])))


def test_classes_are_drawn(ax, classes):
    predictive, y = classes
    sb.plot.reliability(predictive, y, ax=ax, label="mine")
    bins = sb.evaluate.reliability(predictive.mean, y)
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), bins.accuracy[bins.count > 0])
    other = Figure().add_subplot()
    sb.plot.entropy(predictive, ax=other)
    outline = other.patches[-1].get_data()
    assert outline.values.sum() == 90


def test_intervals_traces_and_rhat_are_drawn(ax, reals):
    sb.plot.intervals(*reals, ax=ax)
    assert ax.get_legend() is not None


def test_traces_and_rhat_of_a_run(ax, tiny):
    drawn = sb.run(sb.HMC(0.01, trajectory=0.05, burn_in=3, draws=6, chains=2), tiny, block_steps=10)
    sb.plot.trace(drawn, ax=ax)
    np.testing.assert_array_equal([line.get_ydata() for line in ax.get_lines()], drawn.stats["energy"])
    with pytest.raises(ValueError, match="have no 'nothing': they have"):
        sb.plot.trace(drawn, "nothing", ax=ax)
    assert sb.plot.rhat(drawn, ax=Figure().add_subplot()).patches


def test_a_figure_of_another_kind_is_refused(ax, reals, classes):
    with pytest.raises(ValueError, match="shows classes, and the predictive is of reals"):
        sb.plot.reliability(*reals, ax=ax)
    with pytest.raises(ValueError, match="shows reals, and the predictive is of classes"):
        sb.plot.pit(*classes, ax=ax)


def test_without_axes_the_current_ones_are_drawn_on(reals):
    matplotlib.use("agg")
    from matplotlib import pyplot

    try:
        assert sb.plot.pit(*reals) is pyplot.gca()
    finally:
        pyplot.close("all")
