"""Likelihoods against scipy.stats, and the targets that they refuse."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from symbayes import specs
from symbayes.posterior.likelihoods import KINDS, Categorical, Gaussian, HeteroscedasticGaussian, Likelihood

seeds = st.integers(0, 2**32 - 1)

categorical = jax.jit(lambda outputs, y: Categorical().log_prob(outputs, y))
gaussian = jax.jit(lambda scale, outputs, y: Gaussian(scale).log_prob(outputs, y))
heteroscedastic = jax.jit(lambda floor, outputs, y: HeteroscedasticGaussian(floor).log_prob(outputs, y))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_is_a_likelihood_and_a_pytree(kind: type) -> None:
    assert isinstance(kind(), Likelihood)
    leaves, structure = jax.tree.flatten(kind())
    assert jax.tree.unflatten(structure, leaves) == kind()
    others = [jax.tree.structure(other()) for other in KINDS.values() if other is not kind]
    assert structure not in others, "a program compiled for one may be run for another"
    assert specs.decode(json.loads(json.dumps(specs.encode(kind()))), KINDS) == kind()


@given(seeds, st.floats(0.01, 50))
def test_categorical_is_scipys_multinomial_of_one(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    logits = (spread * rng.normal(size=(6, 4))).astype(np.float32)
    y = rng.integers(0, 4, 6).astype(np.int32)
    expected = scipy.stats.multinomial.logpmf(
        np.eye(4)[y], n=1, p=scipy.special.softmax(logits.astype(np.float64), axis=-1)
    )
    expected = np.where(np.isfinite(expected), expected, logits[np.arange(6), y] - logits.max(axis=-1))
    np.testing.assert_allclose(categorical(logits, y), expected, rtol=1e-5, atol=1e-5)


def test_categorical_survives_extreme_logits() -> None:
    logits = np.array([[1e4, 0.0], [1e4, 0.0]], np.float32)
    np.testing.assert_array_equal(categorical(logits, np.array([0, 1], np.int32)), [0.0, -1e4])


@given(seeds, st.floats(0.05, 20))
def test_gaussian_is_scipys_normal_summed_over_outputs(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    outputs, y = rng.normal(size=(2, 6, 3)).astype(np.float32)
    expected = scipy.stats.norm.logpdf(y.astype(np.float64), outputs, scale).sum(axis=-1)
    np.testing.assert_allclose(gaussian(scale, outputs, y), expected, rtol=1e-5, atol=1e-5)


@given(seeds, st.floats(1e-3, 2), st.floats(0.1, 30))
def test_heteroscedastic_is_scipys_normal_with_the_networks_scale(
    seed: int, floor: float, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    means, raw, y = (spread * rng.normal(size=(3, 6, 2))).astype(np.float32)
    scale = floor + np.logaddexp(0, raw.astype(np.float64))
    expected = scipy.stats.norm.logpdf(y.astype(np.float64), means, scale).sum(axis=-1)
    outputs = np.concatenate([means, raw], axis=-1)
    np.testing.assert_allclose(heteroscedastic(floor, outputs, y), expected, rtol=1e-4, atol=1e-4)


def test_heteroscedastic_gradient_stays_finite() -> None:
    """At the floor, where the raw scale says nothing, and where the target is met exactly."""
    outputs = jnp.array([[0.0, -200.0], [0.0, 200.0], [1.0, 0.0]])
    y = jnp.array([[1.0], [1.0], [1.0]])
    slope = jax.grad(lambda o: jnp.sum(HeteroscedasticGaussian(0.1).log_prob(o, y)))(outputs)
    scale = 0.1 + np.logaddexp(0, np.asarray(outputs[:, 1], np.float64))
    residual = np.array([1.0, 1.0, 0.0])
    by_scale = residual**2 / scale**3 - 1 / scale
    expected = np.stack([residual / scale**2, by_scale * scipy.special.expit(np.asarray(outputs[:, 1]))], 1)
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-12)


def test_what_a_predictive_keeps() -> None:
    outputs = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)), jnp.float32)
    probs = scipy.special.softmax(np.asarray(outputs, np.float64), axis=-1)
    np.testing.assert_allclose(Categorical().predict(outputs), probs, rtol=1e-6)
    np.testing.assert_array_equal(Gaussian(2.0).predict(outputs), outputs)
    means, raw = np.split(np.asarray(outputs[:, :2], np.float64), 2, axis=-1)
    kept = np.concatenate([means, 0.5 + np.logaddexp(0, raw)], axis=-1)
    np.testing.assert_allclose(HeteroscedasticGaussian(0.5).predict(outputs[:, :2]), kept, rtol=1e-6)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_scale_must_be_positive(scale: float) -> None:
    with pytest.raises(ValueError, match=r"^scale must be a positive number, not "):
        Gaussian(scale)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([0, 3, 10]), "labels run from 0 to 10, but the network has outputs for 0 to 9"),
        (np.array([4, -1, 9]), "labels run from -1 to 9, but the network has outputs for 0 to 9"),
        (np.array([0.0, 1.0]), "labels are one integer per example, not float64 of shape"),
        (np.array([[0], [1]]), "labels are one integer per example, not int64 of shape"),
    ],
)
def test_labels_that_do_not_fit_are_refused(y: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Categorical().check((1, 10), y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(3, np.float32), r"targets have shape \(n, 2\) and are real, not float32 of shape \(3,\)"),
        (np.zeros((3, 1), np.float32), r"targets have shape \(n, 2\).* of shape \(3, 1\)"),
        (np.zeros((3, 2), np.int32), r"targets have shape \(n, 2\) and are real, not int32"),
        (np.array([[0, 0], [1, np.nan], [np.inf, 0]]), r"NaN or infinity in 2 of 3.* first in number 1"),
    ],
)
def test_targets_that_do_not_fit_are_refused(y: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Gaussian(1.0).check((1, 2), y)


@pytest.mark.parametrize("floor", [0.0, -1.0, float("nan"), float("inf")])
def test_floor_must_be_positive(floor: float) -> None:
    with pytest.raises(ValueError, match=r"^floor must be a positive number, not "):
        HeteroscedasticGaussian(floor)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            np.zeros((3, 2), np.float32),
            "2 targets with a mean and a scale each need 4 outputs, .* has 2: make",
        ),
        (np.zeros(3, np.float32), r"targets have shape \(n, k\) and are real, not float32 of shape \(3,\)"),
        (np.zeros((3, 1), np.int32), "and are real, not int32"),
        (np.array([[0], [np.nan], [np.inf]]), r"NaN or infinity in 2 of 3.* first in number 1"),
    ],
)
def test_targets_that_do_not_fit_two_outputs_each_are_refused(y: np.ndarray, message: str) -> None:
    HeteroscedasticGaussian().check((1, 2), np.zeros((3, 1), np.float32))
    with pytest.raises(ValueError, match=message):
        HeteroscedasticGaussian().check((1, 2), y)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_curvature_is_the_expected_second_derivative(kind: type) -> None:
    """By sums over all labels, or by quadrature over real targets."""
    law = kind()
    outputs = np.random.default_rng(8).normal(size=4).astype(np.float32)
    second = jax.hessian(lambda o, y: -law.log_prob(o[None], y[None])[0])
    if kind is Categorical:
        every, weights = np.arange(4), scipy.special.softmax(outputs.astype(np.float64))
    else:
        means, scales = law.predictive(
            np.asarray(law.predict(jnp.asarray(outputs)))[None, None]
        ).arrays.values()
        nodes, of_node = np.polynomial.hermite_e.hermegauss(3)
        places = np.stack(np.unravel_index(np.arange(3**means.size), [3] * means.size), axis=-1)
        every = (means.ravel() + scales.ravel() * nodes[places]).astype(np.float32)
        weights = (of_node / of_node.sum())[places].prod(axis=-1)
    expected = np.einsum("s,sij->ij", weights, jax.vmap(second, in_axes=(None, 0))(outputs, every))
    root = np.asarray(law.curvature_root(jnp.asarray(outputs)[None])[0])
    np.testing.assert_allclose(root @ root.T, expected, atol=2e-4 * np.abs(expected).max())
