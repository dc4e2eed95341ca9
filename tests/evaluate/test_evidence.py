"""Estimates of the evidence against conjugate regression, where draws at every power are known."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from symbayes.evaluate import (
    ladder,
    laplace_evidence,
    stepping_stones,
    thermodynamic_integration,
)

NOISE, PRIOR = 0.5, 1.5


@pytest.fixture(scope="module", params=[3, 17])
def regression(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray, float]:
    """Design, targets and the log evidence."""
    rng = np.random.default_rng(request.param)
    x = np.c_[np.ones(20), rng.normal(size=(20, 2))]
    y = x @ rng.normal(size=3) + NOISE * rng.normal(size=20)
    covariance = NOISE**2 * np.eye(20) + PRIOR**2 * x @ x.T
    return x, y, float(multivariate_normal(np.zeros(20), covariance).logpdf(y))


def tempered(x: np.ndarray, y: np.ndarray, power: float, rng: np.random.Generator, draws: int) -> np.ndarray:
    """Log likelihoods (chain, draw) of exact draws with the likelihood to a power."""
    precision = power * x.T @ x / NOISE**2 + np.eye(3) / PRIOR**2
    mean = np.linalg.solve(precision, power * x.T @ y / NOISE**2)
    w = rng.multivariate_normal(mean, np.linalg.inv(precision), size=(2, draws))
    return norm.logpdf(y, w @ x.T, NOISE).sum(-1)


def test_both_ladders_find_the_evidence(regression):
    x, y, exact = regression
    powers, rng = ladder(24), np.random.default_rng(0)
    values = [tempered(x, y, power, rng, 500) for power in powers]
    for estimate in (thermodynamic_integration, stepping_stones):
        found = estimate(powers, values)
        assert 0 < found.error < 0.3
        assert abs(found.log_evidence - exact) < 4 * found.error + 0.05


def test_the_second_order_term_helps(regression):
    """With means and variances nearly exact, what is left is the error of the rule."""
    x, y, exact = regression
    powers, rng = ladder(10), np.random.default_rng(1)
    found = thermodynamic_integration(powers, [tempered(x, y, power, rng, 20_000) for power in powers])
    plain = found.log_evidence - found.correction
    assert abs(found.log_evidence - exact) < 0.5 * abs(plain - exact)


def test_the_error_is_that_of_repeated_estimates(regression):
    x, y, _ = regression
    powers, rng = ladder(8), np.random.default_rng(2)
    for estimate in (thermodynamic_integration, stepping_stones):
        found = [estimate(powers, [tempered(x, y, power, rng, 100) for power in powers]) for _ in range(60)]
        spread = np.std([each.log_evidence - each.correction for each in found])
        assert 0.6 < np.median([each.error for each in found]) / spread < 1.6


def test_laplace_is_exact_for_a_gaussian(regression):
    x, y, exact = regression
    precision = x.T @ x / NOISE**2 + np.eye(3) / PRIOR**2
    mean = np.linalg.solve(precision, x.T @ y / NOISE**2)
    joint = norm.logpdf(y, x @ mean, NOISE).sum() + norm.logpdf(mean, 0, PRIOR).sum()
    assert laplace_evidence(joint, precision) == pytest.approx(exact)


def test_one_mode_needs_the_log_number_of_its_copies():
    """One hidden unit without biases, y = v tanh(w x): (w, v) and (-w, -v) are two copies of one mode."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=60)
    y = 1.2 * np.tanh(0.9 * x) + 0.2 * rng.normal(size=60)

    def joint(w: float, v: float) -> float:
        return float(norm.logpdf(y, v * np.tanh(w * x), 0.2).sum() + norm.logpdf([w, v], 0, 2.0).sum())

    mode = minimize(lambda p: -joint(*p), [1.0, 1.0], tol=1e-10).x
    step, h = 1e-3, np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            a, b = np.eye(2)[i] * step, np.eye(2)[j] * step
            at = [joint(*(mode + s * a + t * b)) * s * t for s in (1, -1) for t in (1, -1)]
            h[i, j] = -sum(at) / (4 * step**2)
    top = joint(*mode)
    side = np.linspace(-4, 4, 401)
    w, v = (axis.ravel() for axis in np.meshgrid(side, side))
    likelihood = norm.logpdf(y, v[:, None] * np.tanh(w[:, None] * x), 0.2).sum(-1)
    values = likelihood + norm.logpdf(w, 0, 2.0) + norm.logpdf(v, 0, 2.0)
    exact = float(logsumexp(values)) + 2 * math.log(side[1] - side[0])
    one = laplace_evidence(top, h)
    assert one + math.log(2) == pytest.approx(exact, abs=0.1)
    assert abs(one - exact) > 0.5


def test_bad_input_is_refused():
    values = [np.zeros((1, 4))] * 3
    for call, words in (
        (lambda: thermodynamic_integration([0.1, 0.5, 1], values), "rise from 0"),
        (lambda: thermodynamic_integration([0, 0.5, 0.9], values), "rise from 0"),
        (lambda: stepping_stones([0, 1], values), "one number for each of log_likelihoods"),
        (lambda: stepping_stones([0, 0.5, 1], [*values[:2], np.zeros(3)]), "chain, draw"),
        (lambda: ladder(1), "at least two"),
        (lambda: laplace_evidence(0.0, np.diag([1.0, -1.0])), "not a mode"),
        (lambda: laplace_evidence(0.0, np.ones(3)), "d, d"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
