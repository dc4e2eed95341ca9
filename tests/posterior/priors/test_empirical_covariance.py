"""The first layer's prior against scipy's multivariate normal with numpy's covariance."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from symbayes.posterior.numerics.sums import compensated
from symbayes.posterior.priors import EmpiricalCovariance, Prior, empirical_covariance

INPUTS, OUTPUTS = 6, 3
ALPHA, EPS = 0.7, 0.01

log_density: Any = jax.jit(lambda prior, params: prior.log_density(params))
log_ratio = jax.jit(lambda prior, new, old: prior.log_ratio(new, old))


def inputs(seed: int, n: int = 30) -> np.ndarray:
    """Correlated, of several scales, with an offset, and one feature that never varies."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, INPUTS)) @ rng.normal(size=(INPUTS, INPUTS)) * np.geomspace(0.1, 3, INPUTS) + 2
    x[:, 1] = 5
    return x.astype(np.float32)


def kernel(seed: int, shape: tuple[int, ...] = (INPUTS, OUTPUTS)) -> dict[str, np.ndarray]:
    return {"kernel": np.random.default_rng(seed).normal(size=shape).astype(np.float32)}


def fitted(seed: int, alpha: float = ALPHA, eps: float = EPS) -> tuple[Any, np.ndarray]:
    x = inputs(seed)
    covariance = alpha * np.cov(x.astype(np.float64), rowvar=False) + eps * np.eye(INPUTS)
    return EmpiricalCovariance(alpha, eps).fitted(kernel(0), x), covariance


@given(st.integers(0, 1000), st.floats(0.1, 5), st.floats(0.01, 1))
def test_density_is_that_of_independent_columns(seed: int, alpha: float, eps: float) -> None:
    prior, covariance = fitted(seed, alpha, eps)
    law = scipy.stats.multivariate_normal(np.zeros(INPUTS), covariance)
    params = kernel(seed + 1)
    expected = law.logpdf(params["kernel"].T.astype(np.float64)).sum()
    assert float(log_density(prior, params)) == pytest.approx(expected, rel=1e-4)
    new = kernel(seed + 2)
    terms = log_ratio(prior, new, params)["kernel"]
    assert terms.shape == (INPUTS, OUTPUTS)
    change = law.logpdf(new["kernel"].T.astype(np.float64)).sum() - expected
    assert float(compensated(terms)) == pytest.approx(change, rel=1e-3, abs=1e-3)


def test_gradient_is_minus_the_precision_times_the_weights() -> None:
    prior, covariance = fitted(3)
    params = kernel(4)
    slope = jax.grad(lambda params: prior.log_density(params))(params)["kernel"]
    np.testing.assert_allclose(slope, -np.linalg.solve(covariance, params["kernel"]), rtol=1e-4, atol=1e-3)


def test_ratio_of_neighbours_does_not_cancel() -> None:
    prior, covariance = fitted(3)
    old = kernel(5)
    new = {"kernel": (old["kernel"] * (1 + 2.0**-21)).astype(np.float32)}
    middle, step = ((new["kernel"].astype(np.float64) + s * old["kernel"]) for s in (1, -1))
    expected = -np.sum(np.linalg.solve(covariance, middle / 2) * step)
    assert float(compensated(log_ratio(prior, new, old)["kernel"])) == pytest.approx(expected, rel=1e-4)
    by_totals = float(log_density(prior, new) - log_density(prior, old))
    assert by_totals != pytest.approx(expected, rel=1e-2)


def test_draws_have_the_covariance() -> None:
    prior, covariance = fitted(6)
    draw = prior.sample(jax.random.key(0), {"kernel": np.zeros((INPUTS, 20_000))})["kernel"]
    white = np.linalg.solve(np.linalg.cholesky(covariance), np.asarray(draw, np.float64))
    np.testing.assert_allclose(np.cov(white), np.eye(INPUTS), atol=5 * math.sqrt(2 / 20_000))
    assert scipy.stats.kstest(white.ravel(), "norm").pvalue > 1e-3


def test_inputs_far_from_zero_keep_their_covariance() -> None:
    x = 1e8 + np.random.default_rng(10).normal(size=(30, INPUTS))
    prior: Any = EmpiricalCovariance(1.0, 1e-4).fitted(kernel(0), x)
    expected = np.linalg.eigvalsh(np.cov(x - 1e8, rowvar=False)) + 1e-4
    np.testing.assert_allclose(np.square(prior.widths), expected, rtol=1e-3)


def test_rounding_leaves_no_width_below_that_of_eps() -> None:
    """Large inputs along one line: five eigenvalues are zero up to rounding, half of them below."""
    line = np.random.default_rng(9).normal(size=(30, 1)) * 1e5
    x = (line * np.linspace(1, 2, INPUTS)).astype(np.float32)
    prior: Any = EmpiricalCovariance(1.0, 1e-9).fitted(kernel(0), x)
    assert np.isfinite(prior.widths).all()
    assert float(prior.widths.min()) >= math.sqrt(0.99e-9)


def test_deviations_are_those_of_the_inputs() -> None:
    prior, covariance = fitted(7)
    assert prior.standard_deviation is None
    deviations = prior.deviations(kernel(0))["kernel"]
    assert deviations.shape == (INPUTS, 1)
    np.testing.assert_allclose(deviations[:, 0], np.sqrt(np.diag(covariance)), rtol=1e-5)
    assert float(deviations[1, 0]) == pytest.approx(math.sqrt(EPS), rel=1e-5), "the feature that never varies"


@pytest.mark.parametrize("at_once", [2**24, 1])
def test_a_convolution_takes_the_covariance_of_patches(at_once: int, monkeypatch: Any) -> None:
    """The response of an output to random patches has the variance that the definition gives."""
    monkeypatch.setattr(empirical_covariance, "VALUES_AT_ONCE", at_once)
    rng = np.random.default_rng(8)
    x = rng.normal(size=(5, 6, 7, 2)).cumsum(axis=1).astype(np.float32)
    shape = (3, 2, 2, 4)
    prior = EmpiricalCovariance(ALPHA, EPS).fitted(kernel(0, shape), x)
    patches = np.array(
        [x[n, i : i + 3, j : j + 2].ravel() for n in range(5) for i in range(4) for j in range(6)]
    )
    covariance = ALPHA * np.cov(patches.astype(np.float64), rowvar=False) + EPS * np.eye(12)
    params = kernel(1, shape)
    columns = params["kernel"].reshape(12, 4).T.astype(np.float64)
    expected = scipy.stats.multivariate_normal(np.zeros(12), covariance).logpdf(columns).sum()
    assert float(prior.log_density(params)) == pytest.approx(expected, rel=1e-4)
    deviations = prior.deviations(params)["kernel"]
    assert deviations.shape == (3, 2, 2, 1)
    np.testing.assert_allclose(deviations.ravel(), np.sqrt(np.diag(covariance)), rtol=1e-5)
    assert prior.sample(jax.random.key(0), params)["kernel"].shape == shape


def test_covariance_is_an_argument_of_programs() -> None:
    density: Any = jax.jit(lambda prior, params: prior.log_density(params))
    priors = [jax.tree.map(jnp.float32, fitted(seed, eps=eps)[0]) for seed, eps in ((1, 0.1), (2, 0.3))]
    assert all(isinstance(prior, Prior) for prior in priors)
    values = {float(density(prior, kernel(0))) for prior in priors}
    assert len(values) == 2
    assert density._cache_size() == 1


@pytest.mark.parametrize(
    ("params", "x", "message"),
    [
        (kernel(0) | {"bias": np.zeros(3)}, inputs(0), "for the first kernel alone, not for bias, kernel"),
        (kernel(0, (5, 3)), inputs(0), r"kernel of shape \(5, 3\) does not multiply inputs of shape \(6,\)"),
        (kernel(0, (3,)), inputs(0), r"kernel of shape \(3,\) does not multiply"),
        (kernel(0, (3, 3, 1, 4)), np.zeros((2, 6, 6, 3), np.float32), "does not multiply inputs"),
        (kernel(0, (3, 3, 1, 4)), np.zeros((2, 2, 6, 1), np.float32), "does not multiply inputs"),
        (kernel(0), inputs(0)[:1], "at least two real inputs, not 1 of float32"),
        (kernel(0), inputs(0).astype(np.int32), "at least two real inputs, not 30 of int32"),
    ],
)
def test_what_it_does_not_suit_is_refused(params: Any, x: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EmpiricalCovariance().fitted(params, x)


def test_before_it_is_fitted_it_has_no_density() -> None:
    with pytest.raises(ValueError, match="has not seen any inputs"):
        EmpiricalCovariance().log_density(kernel(0))


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["alpha", "eps"])
def test_scales_must_be_positive(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be a positive number"):
        EmpiricalCovariance(**{name: value})
