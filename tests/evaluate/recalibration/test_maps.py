"""Maps of probabilities: the optimum by scipy and scikit-learn, what they keep, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from symbayes.evaluate import brier, ece, nll
from symbayes.evaluate.recalibration import (
    MAPS,
    DirichletScaling,
    Isotonic,
    TemperatureScaling,
    VectorScaling,
    fit_map,
)

SEEDS = st.integers(0, 2**32 - 1)
every = pytest.mark.parametrize("name", MAPS)


def overconfident(seed: int, n: int = 400, k: int = 3, by: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Labels that follow softmax(z), and the probabilities softmax(by * z)."""
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=(n, k))
    y = np.array([rng.choice(k, p=p) for p in softmax(z, axis=1)])
    return softmax(by * z, axis=1), y


@settings(max_examples=10)
@given(SEEDS)
def test_the_temperature_is_that_of_a_search(seed: int) -> None:
    probs, y = overconfident(seed)

    def loss(log_t: float) -> float:
        return nll(softmax(np.log(np.maximum(probs, 2.0**-126)) / np.exp(log_t), axis=1), y)

    expected = minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9})
    found = TemperatureScaling.fit(probs, y)
    assert np.log(found.temperature) == pytest.approx(expected.x, abs=1e-5)
    assert found.temperature == pytest.approx(3.0, rel=0.35), "the labels follow a third of these logits"


@settings(max_examples=5)
@given(SEEDS)
def test_dirichlet_scaling_is_logistic_regression_of_the_logs(seed: int) -> None:
    """Without a penalty both have the same maximum of the likelihood."""
    probs, y = overconfident(seed, n=300)
    found = DirichletScaling.fit(probs, y, penalty=1e-9)
    logs = np.log(np.maximum(probs, 2.0**-126))
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(logs, y)
    assert nll(found.apply(probs), y) == pytest.approx(nll(model.predict_proba(logs), y), abs=1e-6)
    np.testing.assert_allclose(found.apply(probs), model.predict_proba(logs), atol=2e-3)


@settings(max_examples=10)
@given(SEEDS)
def test_vector_scaling_has_no_slope_left(seed: int) -> None:
    probs, y = overconfident(seed, n=200)
    found = VectorScaling.fit(probs, y)

    def objective(weights: np.ndarray, bias: np.ndarray) -> float:
        penalty = 5e-4 * (np.sum((weights - 1) ** 2) + np.sum(bias**2))
        return nll(VectorScaling(weights, bias).apply(probs), y) + penalty

    best = objective(found.weights, found.bias)
    for step in 1e-3 * np.eye(3):
        assert best < objective(found.weights + step, found.bias)
        assert best < objective(found.weights - step, found.bias)
        assert best < objective(found.weights, found.bias + step)
        assert best < objective(found.weights, found.bias - step)


@given(SEEDS, st.integers(1, 40), st.integers(2, 4), st.booleans())
def test_isotonic_is_that_of_scikit_learn(seed: int, n: int, k: int, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    probs = rng.multinomial(6, np.full(k, 1 / k), n) / 6 if tied else rng.dirichlet(np.ones(k), n)
    y, new = rng.integers(0, k, n), rng.dirichlet(np.ones(k), 7)
    columns = [
        IsotonicRegression(out_of_bounds="clip").fit(probs[:, c], y == c).predict(new[:, c]) for c in range(k)
    ]
    expected = np.stack(columns, axis=1)
    some = expected.sum(axis=1) > 0
    found = Isotonic.fit(probs, y).apply(new)
    np.testing.assert_allclose(
        found[some], expected[some] / expected[some].sum(axis=1, keepdims=True), atol=1e-6
    )
    np.testing.assert_array_equal(found[~some], new[~some])


@every
@settings(max_examples=5)
@given(seed=SEEDS)
def test_a_map_gives_probabilities_and_mends_overconfidence(name: str, seed: int) -> None:
    probs, y = overconfident(seed, n=800)
    fitted = fit_map(name, probs[:500], y[:500])
    changed = fitted.apply(probs[500:])
    np.testing.assert_allclose(changed.sum(axis=-1), 1, atol=1e-9)
    assert brier(changed, y[500:]) < brier(probs[500:], y[500:])
    assert name == "isotonic" or nll(changed, y[500:]) < nll(probs[500:], y[500:])
    assert ece(changed, y[500:]) < ece(probs[500:], y[500:])
    pictures = fitted.apply(probs[500:].reshape(10, 30, 3))
    np.testing.assert_allclose(pictures.reshape(300, 3), changed)
    assert fitted.words


@every
def test_hard_cases_stay_finite(name: str) -> None:
    """Probabilities of 0 and 1, a class without labels, one example, labels that are all told."""
    certain = np.eye(3)[[0, 1, 0, 1]]
    for probs, y in (
        (certain, np.array([0, 1, 0, 1])),
        (certain, np.array([1, 0, 1, 0])),
        (certain[:1], np.array([2])),
        (np.full((4, 3), 1 / 3), np.array([0, 1, 0, 1])),
    ):
        changed = fit_map(name, probs, y).apply(np.eye(3))
        assert np.isfinite(changed).all()
        np.testing.assert_allclose(changed.sum(axis=1), 1, atol=1e-9)


@every
def test_positions_are_points(name: str) -> None:
    probs, y = overconfident(3, n=60)
    flat, shaped = fit_map(name, probs, y), fit_map(name, probs.reshape(10, 6, 3), y.reshape(10, 6))
    np.testing.assert_allclose(flat.apply(probs), shaped.apply(probs))


@every
def test_bad_input_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"probs must sum to one over the last axis.* not logits"):
        fit_map(name, [[2.0, 0.5]], [0])
    with pytest.raises(ValueError, match=r"y must lie in 0\.\.1 for 2 classes"):
        fit_map(name, [[0.5, 0.5]], [2])
    if name != "temperature":
        with pytest.raises(ValueError, match="probs has 3 classes, but this was fitted to 2"):
            fit_map(name, [[0.5, 0.5]], [0]).apply([[0.2, 0.3, 0.5]])


def test_unknown_maps_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"no recalibration is called 'temprature' \(did you mean 'temperature'"
    ):
        fit_map("temprature", [[0.5, 0.5]], [0])
