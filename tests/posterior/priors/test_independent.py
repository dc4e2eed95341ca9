"""Priors with one law for all parameters, against scipy.stats: densities, ratios, gradients, draws."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes import trees
from symbayes.posterior.numerics.sums import compensated
from symbayes.posterior.priors import GaussianMixture, Laplace, Logistic, Normal, Prior, StudentT

seeds = st.integers(0, 2**32 - 1)
WEIGHTS = (0.25, 0.5, 0.25)
RATIOS = (1.0, 0.01, 7.0)
"""The scales of a mixture's components, the widest last, next to one another."""


@dataclass(frozen=True)
class Law:
    """A prior for any scale, and what it should be."""

    prior: Callable[[float], Any]
    logpdf: Callable[[np.ndarray, float], np.ndarray]
    cdf: Callable[[np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray], np.ndarray]
    deviation: float | None


def _mixture_terms(w: np.ndarray, scale: float) -> np.ndarray:
    log_weights = np.log(WEIGHTS).reshape(3, *([1] * w.ndim))
    return log_weights + np.stack([scipy.stats.norm.logpdf(w, 0, ratio * scale) for ratio in RATIOS])


def _mixture_gradient(w: np.ndarray) -> np.ndarray:
    shares = scipy.special.softmax(_mixture_terms(w, 1.0), axis=0)
    return -w * sum(share / ratio**2 for share, ratio in zip(shares, RATIOS, strict=True))


LAWS = {
    "Normal": Law(
        Normal, lambda w, s: scipy.stats.norm.logpdf(w, 0, s), scipy.stats.norm.cdf, lambda w: -w, 1.0
    ),
    "Laplace": Law(
        Laplace,
        lambda w, s: scipy.stats.laplace.logpdf(w, 0, s),
        scipy.stats.laplace.cdf,
        lambda w: -np.sign(w),
        scipy.stats.laplace.std(),
    ),
    "Logistic": Law(
        Logistic,
        lambda w, s: scipy.stats.logistic.logpdf(w, 0, s),
        scipy.stats.logistic.cdf,
        lambda w: -np.tanh(w / 2),
        scipy.stats.logistic.std(),
    ),
    "StudentT": Law(
        lambda s: StudentT(s, df=3.5),
        lambda w, s: scipy.stats.t.logpdf(w, 3.5, 0, s),
        scipy.stats.t(3.5).cdf,
        lambda w: -4.5 * w / (3.5 + w**2),
        scipy.stats.t.std(3.5),
    ),
    "Cauchy": Law(
        lambda s: StudentT(s, df=1),
        lambda w, s: scipy.stats.cauchy.logpdf(w, 0, s),
        scipy.stats.cauchy.cdf,
        lambda w: -2 * w / (1 + w**2),
        None,
    ),
    "GaussianMixture": Law(
        lambda s: GaussianMixture(tuple(ratio * s for ratio in RATIOS), WEIGHTS),
        lambda w, s: scipy.special.logsumexp(_mixture_terms(w, s), axis=0),
        lambda w: sum(p * scipy.stats.norm.cdf(w / r) for p, r in zip(WEIGHTS, RATIOS, strict=True)),
        _mixture_gradient,
        math.sqrt(sum(p * r**2 for p, r in zip(WEIGHTS, RATIOS, strict=True))),
    ),
}

log_density: Any = jax.jit(lambda prior, params: prior.log_density(params))
log_ratio = jax.jit(lambda prior, new, old: prior.log_ratio(new, old))
gradient = jax.jit(jax.grad(lambda params, prior: prior.log_density(params)))


@pytest.fixture(params=LAWS.values(), ids=LAWS, scope="module")
def law(request: pytest.FixtureRequest) -> Law:
    return request.param


def as_leaves(prior: Any) -> Any:
    return jax.tree.map(jnp.float32, prior)


def weights(seed: int, scale: float = 1.0) -> dict[str, np.ndarray]:
    """From deep in the centre to far in the tails."""
    rng = np.random.default_rng(seed)
    shapes = {"bias": (3,), "kernel": (4, 3)}
    spread = 10.0 ** rng.uniform(-3, 1.5)
    return {
        name: (spread * scale * rng.normal(size=shape)).astype(np.float32) for name, shape in shapes.items()
    }


@given(seed=seeds, scale=st.floats(0.01, 20))
def test_log_density_is_scipys(law: Law, seed: int, scale: float) -> None:
    params = weights(seed, scale)
    expected = sum(law.logpdf(leaf.astype(np.float64), scale).sum() for leaf in params.values())
    assert float(log_density(as_leaves(law.prior(scale)), params)) == pytest.approx(
        expected, rel=1e-5, abs=1e-4
    )


@given(seed=seeds, scale=st.floats(0.01, 20))
def test_log_ratio_between_any_two_points(law: Law, seed: int, scale: float) -> None:
    new, old = weights(seed, scale), weights(seed + 1, scale)
    ratio = log_ratio(as_leaves(law.prior(scale)), new, old)
    for name in new:
        a, b = (law.logpdf(side[name].astype(np.float64), scale) for side in (new, old))
        np.testing.assert_allclose(ratio[name], a - b, rtol=2e-5, atol=1e-6)


@given(seed=seeds, magnitude=st.floats(-3, 3), step=st.integers(1, 1000))
@settings(max_examples=50)
def test_log_ratio_of_neighbours_does_not_cancel(law: Law, seed: int, magnitude: float, step: int) -> None:
    """Points a few units of their last place apart, up to a thousand scales from zero.

    Differences of the float32 density would have no correct digit here.
    """
    rng = np.random.default_rng(seed)
    old = (10.0**magnitude * rng.uniform(0.5, 2, 32) * rng.choice([-1, 1], 32)).astype(np.float32)
    new = (old.astype(np.float64) * (1 + rng.integers(-step, step + 1, 32) * 2.0**-22)).astype(np.float32)
    ratio = log_ratio(as_leaves(law.prior(1.0)), {"w": new}, {"w": old})["w"]
    middle = (new.astype(np.float64) + old) / 2
    # The gradient in the middle times the step: exact to the third order of a step below 3e-4.
    expected = law.gradient(middle) * (new.astype(np.float64) - old)
    np.testing.assert_allclose(ratio, expected, rtol=3e-4, atol=1e-30)


def test_log_ratio_survives_where_totals_cancel(law: Law) -> None:
    """A million weights that move by 1e-4: the sum of ratios holds, the difference of totals does not."""
    rng = np.random.default_rng(5)
    old = rng.normal(size=1_000_000).astype(np.float32)
    new = (old + 1e-4 * rng.normal(size=old.size)).astype(np.float32)
    prior = as_leaves(law.prior(1.0))
    exact = math.fsum(law.logpdf(new.astype(np.float64), 1.0) - law.logpdf(old.astype(np.float64), 1.0))
    by_elements = float(compensated(log_ratio(prior, {"w": new}, {"w": old})["w"]))
    by_totals = float(log_density(prior, {"w": new}) - log_density(prior, {"w": old}))
    assert abs(by_elements - exact) < 2e-5 < abs(by_totals - exact)


@given(seed=seeds)
def test_gradient_is_the_closed_form(law: Law, seed: int) -> None:
    params = weights(seed)
    for name, leaf in gradient(params, as_leaves(law.prior(1.0))).items():
        np.testing.assert_allclose(leaf, law.gradient(params[name].astype(np.float64)), rtol=1e-4, atol=1e-6)


def test_gradient_is_finite_at_zero_and_far_away(law: Law) -> None:
    params = {"w": np.array([0.0, -0.0, 1e4, -1e4], np.float32)}
    slope = np.asarray(gradient(params, as_leaves(law.prior(1.0)))["w"])
    np.testing.assert_array_equal(slope[:2], 0)
    np.testing.assert_allclose(slope[2:], law.gradient(np.array([1e4, -1e4])), rtol=1e-4)


def test_draws_follow_the_law(law: Law) -> None:
    """One p-value each and one correlation at four standard errors, with fixed seeds."""
    scale, count = 0.3, 40_000
    shapes = {"a": np.zeros(count // 2), "b": np.zeros((count // 4, 2))}
    draw = jax.jit(lambda prior, key: prior.sample(key, shapes))(law.prior(scale), jax.random.key(3))
    values = np.asarray(trees.ravel(draw), np.float64)
    assert scipy.stats.kstest(values / scale, law.cdf).pvalue > 1e-3
    ranks = [law.cdf(np.asarray(draw[name], np.float64).ravel() / scale) for name in ("a", "b")]
    assert abs(np.corrcoef(*ranks)[0, 1]) < 4 / math.sqrt(count // 2)


def test_standard_deviations(law: Law) -> None:
    prior, params = law.prior(0.25), weights(0)
    deviations = prior.deviations(params)
    if law.deviation is None:
        assert prior.standard_deviation is None
        assert deviations is None
        return
    assert float(prior.standard_deviation) == pytest.approx(0.25 * law.deviation, rel=1e-6)
    assert deviations.keys() == params.keys()
    for name, leaf in deviations.items():
        assert jnp.broadcast_shapes(leaf.shape, params[name].shape) == params[name].shape
        np.testing.assert_allclose(leaf, 0.25 * law.deviation, rtol=1e-6)
    in_program = jax.jit(lambda prior: prior.deviations(params))(as_leaves(prior))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), in_program, deviations)


def test_another_scale_compiles_nothing(law: Law) -> None:
    density: Any = jax.jit(lambda prior, params: prior.log_density(params))
    values = [float(density(as_leaves(law.prior(scale)), weights(0))) for scale in (0.5, 2.0)]
    assert values[0] != values[1]
    assert density._cache_size() == 1


def test_fits_any_parameters(law: Law) -> None:
    prior = law.prior(1.0)
    assert isinstance(prior, Prior)
    assert prior.fitted(weights(0), np.zeros((2, 3), np.float32)) is prior


@pytest.mark.parametrize("scale", [0.0, -0.5, float("nan"), float("inf")])
def test_scale_must_be_positive(law: Law, scale: float) -> None:
    with pytest.raises(ValueError, match=r"^scale must be a positive number, not "):
        law.prior(scale)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StudentT(1.0, df=0.0), "df must be a positive number, not 0.0"),
        (lambda: GaussianMixture((1.0,), (0.5, 0.5)), "one weight for every scale, not 2 for 1"),
        (lambda: GaussianMixture((), ()), "one weight for every scale, not 0 for 0"),
        (lambda: GaussianMixture((1.0, 2.0), (0.5, 0.6)), "weights sum to one, not to 1.1"),
        (lambda: GaussianMixture((1.0, 2.0), (1.5, -0.5)), "weight must be a positive number, not -0.5"),
    ],
)
def test_other_bad_values_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
