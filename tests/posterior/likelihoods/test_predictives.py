"""What every kind of predictive can be asked: halves, single draws, samples, losses, intervals."""

import inspect

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import symbayes as sb
from symbayes import evaluate
from symbayes.posterior import CategoricalPredictive, GaussianPredictive, Predictive
from symbayes.posterior.likelihoods import joined
from symbayes.report.predictions import DRAWINGS

KINDS = ("classes", "reals", "noisy")


def predictive(kind: str, chains: int = 2, draws: int = 3, positions: tuple[int, ...] = ()) -> Predictive:
    rng = np.random.default_rng(7)
    lead = (chains, draws, 4, *positions)
    if kind == "classes":
        return CategoricalPredictive(rng.dirichlet(np.ones(3), size=lead))
    means = rng.normal(size=(*lead, 2))
    return GaussianPredictive(means, 0.3 if kind == "reals" else rng.uniform(0.2, 1, size=means.shape))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positions", [(), (2, 3)])
def test_halves_are_of_chains_or_of_draws(kind: str, positions: tuple[int, ...]) -> None:
    whole = predictive(kind, 3, 4, positions)
    for chains, draws, cut in ((3, 4, (1, 2)), (1, 4, (2, 2)), (1, 1, None)):
        part = whole.of_draws(lambda a, c=chains, d=draws: a[:c, :d])
        halves = part.halves()
        if cut is None:
            assert halves is None
            continue
        assert halves is not None
        axis = 0 if chains > 1 else 1
        assert tuple(half.every.shape[axis] for half in halves) == cut
        for name, array in part.arrays.items():
            together = np.concatenate([half.arrays[name] for half in halves], axis=axis)
            np.testing.assert_array_equal(together, array)


@pytest.mark.parametrize("kind", KINDS)
def test_single_draws_and_parts_make_the_whole(kind: str) -> None:
    whole = predictive(kind, chains=1, draws=4)
    singles = list(whole.singles())
    assert [one.count for one in singles] == [1] * 4
    again = joined(singles)
    np.testing.assert_array_equal(again.every, whole.every)
    y = np.array([0, 2, 1, 1]) if kind == "classes" else np.zeros((4, 2))
    np.testing.assert_allclose(again.losses(y), whole.losses(y), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_quantities_are_what_every_draw_says(kind: str) -> None:
    whole = predictive(kind, positions=(2, 3))
    values = whole.quantities
    assert values.shape == (2, 3, 4 * 6 * whole.every.shape[-1])
    np.testing.assert_array_equal(values.reshape(whole.every.shape), whole.every)
    assert whole.positions == (2, 3)
    assert whole.examples == 4
    assert whole.uncertainty.shape == whole.doubt.shape == (4,)


def test_uncertainty_is_averaged_over_positions() -> None:
    classes, reals = (predictive(kind, positions=(2, 3)) for kind in ("classes", "noisy"))
    assert isinstance(classes, CategoricalPredictive)
    assert isinstance(reals, GaussianPredictive)
    np.testing.assert_allclose(classes.uncertainty, classes.entropy.mean(axis=(1, 2)))
    np.testing.assert_allclose(classes.doubt, 1 - classes.mean.max(axis=-1).mean(axis=(1, 2)))
    np.testing.assert_allclose(reals.uncertainty**2, (reals.std**2).mean(axis=(1, 2, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_moments_of_the_predictive(kind: str) -> None:
    """Seven standard errors; and one draw is taken for all examples."""
    whole, n = predictive(kind), 4000
    drawn = whole.sample(jax.random.key(3), n)
    if isinstance(whole, CategoricalPredictive):
        assert drawn.shape == (n, 4)
        shares = np.stack([(drawn == c).mean(axis=0) for c in range(3)], axis=-1)
        assert np.abs(shares - whole.mean).max() < 7 * 0.5 / np.sqrt(n)
        return
    assert isinstance(whole, GaussianPredictive)
    assert drawn.shape == (n, 4, 2)
    errors = whole.std / np.sqrt(n)
    assert np.abs((drawn.mean(axis=0) - whole.mean) / errors).max() < 7
    # Of few and wide components the kurtosis is below a normal's, so its standard error will do.
    assert np.abs(drawn.var(axis=0) / whole.std**2 - 1).max() < 7 * np.sqrt(2 / n)
    between = np.cov(whole.each.reshape(6, -1).T, bias=True)[0, 2]
    found = np.cov(drawn.reshape(n, -1).T)[0, 2]
    assert abs(found - between) < 7 * whole.std[0, 0] * whole.std[1, 0] * np.sqrt(2 / n)


def test_certain_classes_are_drawn_for_certain() -> None:
    certain = CategoricalPredictive(np.eye(3)[[0, 2, 1]][None, None])
    np.testing.assert_array_equal(certain.sample(jax.random.key(0), 5), np.tile([0, 2, 1], (5, 1)))
    np.testing.assert_allclose(certain.losses(np.array([0, 2, 1])), 0)
    assert certain.losses(np.array([1, 2, 1]))[0] == pytest.approx(-np.log(np.finfo(np.float32).tiny))


@settings(deadline=None, max_examples=10)
@given(st.floats(0.05, 0.99))
def test_intervals_hold_their_probability(level: float) -> None:
    whole = predictive("noisy")
    assert isinstance(whole, GaussianPredictive)
    low, high = whole.interval(level)
    inside = norm.cdf(high, whole.means, whole.noise) - norm.cdf(low, whole.means, whole.noise)
    np.testing.assert_allclose(inside.mean(axis=(0, 1)), level, atol=1e-8)


def test_units_are_given_back() -> None:
    whole = predictive("noisy")
    scaling = sb.data.Scaling(np.array([1.0, -2.0]), np.array([3.0, 0.5]))
    other = whole.unscaled(scaling)
    assert isinstance(whole, GaussianPredictive)
    assert isinstance(other, GaussianPredictive)
    np.testing.assert_allclose(other.mean, scaling.undo(whole.mean))
    np.testing.assert_allclose(other.std, whole.std * scaling.scale)
    with pytest.raises(ValueError, match="labels have no units"):
        predictive("classes").unscaled(scaling)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positions", [(), (5,), (2, 3)])
def test_figures_are_known_to_the_page(kind: str, positions: tuple[int, ...]) -> None:
    named = predictive(kind, positions=positions).figures
    assert named
    assert {*named} <= {*DRAWINGS, "confidences"}


def test_targets_and_levels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"y has shape \(3,\), but labels of these predictions have \(4,\)"):
        predictive("classes").losses(np.zeros(3, int))
    with pytest.raises(ValueError, match="y must have shape"):
        predictive("reals").losses(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"level is a probability between 0 and 1, not 90\.0"):
        predictive("reals").interval(90.0)


def test_quantiles_are_of_one_probability() -> None:
    made = predictive("classes")
    unchecked = [  # of what tests check the types of
        lambda q: inspect.unwrap(type(made).quantile)(made, q),
        lambda q: inspect.unwrap(evaluate.mixture_quantile)(np.zeros((2, 3, 1)), 1.0, q),
    ]
    for quantile in unchecked:
        with pytest.raises(ValueError, match="q is one probability, not several: ask for one"):
            quantile([0.1, 0.5])


def test_intervals_of_probabilities_are_those_of_the_draws():
    probs = np.random.default_rng(3).dirichlet(np.ones(3), (2, 50, 4))
    predictive = CategoricalPredictive(probs)
    lower, upper = predictive.interval(0.8)
    flat = np.sort(probs.reshape(100, 4, 3), axis=0)
    assert ((flat < lower).sum(axis=0) == 10).all()
    assert ((flat > upper).sum(axis=0) == 10).all()
    with pytest.raises(ValueError, match="level is a probability"):
        predictive.interval(1.0)
    with pytest.raises(ValueError, match="q is a probability"):
        predictive.quantile(0.0)


def test_a_seed_is_a_key():
    predictive = GaussianPredictive(np.zeros((1, 3, 2, 1)), 0.5)
    np.testing.assert_array_equal(predictive.sample(7, 5), predictive.sample(jax.random.key(7), 5))


def test_what_is_told_of_an_example():
    reals = GaussianPredictive(np.zeros((1, 3, 2, 1)), 0.5).described(0.5)
    np.testing.assert_allclose(reals["upper"], 0.5 * 0.6744897501960817, rtol=1e-6)
    np.testing.assert_allclose(reals["sd"], 0.5)
    classes = CategoricalPredictive(np.full((2, 3, 5, 4), 0.25)).described()
    assert {name: array.shape for name, array in classes.items()} == {
        "label": (5,),
        "entropy": (5,),
        "probability": (5, 4),
        "lower": (5, 4),
        "upper": (5, 4),
    }
