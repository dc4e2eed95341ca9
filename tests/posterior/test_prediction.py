"""Predictions of draws: the walk in blocks and pieces changes nothing, and the summaries are right."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import symbayes as sb
from symbayes import trees
from symbayes.posterior import CategoricalPredictive, GaussianPredictive, prediction

CHAINS, DRAWS, INPUTS = 2, 7, 13


@pytest.fixture(scope="module")
def draws(tiny: sb.Posterior) -> sb.Draws:
    keys = jax.random.split(jax.random.key(1), (CHAINS, DRAWS))
    # Far from zero, so that draws disagree and the entropies differ.
    variables = jax.jit(jax.vmap(jax.vmap(tiny.init)))(keys)
    return sb.Draws.from_variables(jax.tree.map(lambda leaf: 3 * leaf, variables))


@pytest.fixture(scope="module")
def x(digits: sb.data.Dataset) -> np.ndarray:
    return digits.test.x[:INPUTS]


@pytest.fixture(scope="module")
def expected(draws: sb.Draws, x: np.ndarray) -> np.ndarray:
    """Probabilities in float64, draw by draw, without the package's network."""
    w = {name: leaf.astype(np.float64) for name, leaf in trees.flatten(draws.variables["params"]).items()}
    rows = x.reshape(INPUTS, -1).astype(np.float64)
    hidden = np.maximum(rows @ w["hidden1/kernel"] + w["hidden1/bias"][..., None, :], 0)
    return scipy.special.softmax(hidden @ w["output/kernel"] + w["output/bias"][..., None, :], axis=-1)


def test_inputs_of_another_form_are_told_by_their_shape(tiny: sb.Posterior, draws: sb.Draws, x: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot be computed for inputs of shape \(1, 7\), one example"):
        tiny.predict(draws, x.reshape(INPUTS, -1)[:, :7])


def test_variables_of_another_network_are_told_as_such(tiny: sb.Posterior, x: Any) -> None:
    with pytest.raises(ValueError, match="variables of another network"):
        tiny.predict({"params": {"w": np.ones((3, 3), np.float32)}, "stats": {}}, x)


@pytest.mark.parametrize(
    ("inputs", "at_once"),
    [(4096, 16), (5, 16), (13, 4), (5, 3), (1, 1)],
    ids=["all at once", "inputs padded", "draws padded", "both", "one by one"],
)
def test_size_of_pieces_changes_nothing(
    tiny: sb.Posterior, draws: sb.Draws, x: Any, expected: Any, inputs: int, at_once: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(prediction, "INPUTS_AT_ONCE", inputs)
    monkeypatch.setattr(prediction, "DRAWS_AT_ONCE", at_once)
    made = tiny.predict(draws, x)
    assert isinstance(made, CategoricalPredictive)
    assert made.probs.shape == (CHAINS, DRAWS, INPUTS, 10)
    np.testing.assert_allclose(made.probs, expected, atol=1e-5)


def test_draws_in_several_segments(tiny: sb.Posterior, draws: sb.Draws, x: Any, expected: Any) -> None:
    parts = [draws.select(draws=slice(0, 2)), draws.select(draws=slice(2, None))]
    split = sb.Draws([segment for part in parts for segment in part.segments])
    made = tiny.predict(split, jnp.asarray(x))
    np.testing.assert_allclose(made.probs, expected, atol=1e-5)


def test_one_tree_of_variables_is_one_draw(
    tiny: sb.Posterior, draws: sb.Draws, x: Any, expected: Any
) -> None:
    made = tiny.predict(trees.index(draws.variables, (1, 3)), x)
    assert isinstance(made, CategoricalPredictive)
    assert made.probs.shape == (1, 1, INPUTS, 10)
    np.testing.assert_allclose(made.probs[0, 0], expected[1, 3], atol=1e-5)


def test_summaries_of_classification(tiny: sb.Posterior, draws: sb.Draws, x: Any, expected: Any) -> None:
    made = tiny.predict(draws, x)
    assert isinstance(made, CategoricalPredictive)
    mean = expected.mean(axis=(0, 1))
    entropy = scipy.stats.entropy(mean, axis=-1)
    each = scipy.stats.entropy(expected, axis=-1).mean(axis=(0, 1))
    np.testing.assert_allclose(made.mean, mean, atol=1e-5)
    np.testing.assert_allclose(made.entropy, entropy, atol=1e-4)
    np.testing.assert_allclose(made.mutual_information, entropy - each, atol=1e-4)
    assert made.mutual_information.min() > 0.01


def regression(outputs: int) -> tuple[sb.Draws, np.ndarray, np.ndarray]:
    """Draws of a linear network, inputs, and every draw's outputs in float64."""
    rng = np.random.default_rng(2)
    kernel, bias = (
        rng.normal(size=(2, 5, *shape)).astype(np.float32) for shape in ((2, outputs), (outputs,))
    )
    draws = sb.Draws.from_variables({"params": {"output": {"kernel": kernel, "bias": bias}}})
    x = rng.normal(size=(4, 2)).astype(np.float32)
    return draws, x, x.astype(np.float64) @ kernel + bias[..., None, :].astype(np.float64)


def assert_is_mixture(made: Any, means: np.ndarray, noise: np.ndarray) -> None:
    """Against the law of total variance, and densities that are averaged and not their logarithms."""
    assert isinstance(made, GaussianPredictive)
    np.testing.assert_allclose(made.means, means, atol=1e-6)
    np.testing.assert_allclose(made.mean, means.mean(axis=(0, 1)), atol=1e-6)
    np.testing.assert_allclose(made.epistemic, means.std(axis=(0, 1)), rtol=1e-5)
    np.testing.assert_allclose(made.aleatoric, np.sqrt((noise**2).mean(axis=(0, 1))), rtol=1e-5)
    second = (means**2 + noise**2).mean(axis=(0, 1))
    np.testing.assert_allclose(made.std, np.sqrt(second - means.mean(axis=(0, 1)) ** 2), rtol=1e-5)
    y = np.random.default_rng(3).normal(size=means.shape[2:])
    density = scipy.stats.norm.pdf(y, means, noise).prod(axis=-1).mean(axis=(0, 1))
    np.testing.assert_allclose(made.log_density(y), np.log(density), rtol=1e-4)
    for name in ("entropy", "mutual_information"):
        with pytest.raises(AttributeError, match=r"use std|epistemic says"):
            getattr(made, name)


def test_regression_gives_the_mixture_with_noise(linear: Any) -> None:
    posterior, _, _ = linear
    draws, x, means = regression(outputs=1)
    made = posterior.predict(draws, x)
    assert made.noise == 0.5
    assert_is_mixture(made, means, np.full(means.shape, 0.5))


def test_regression_with_the_networks_own_noise() -> None:
    draws, x, outputs = regression(outputs=4)
    rng = np.random.default_rng(4)
    train = sb.data.Examples(
        rng.normal(size=(9, 2)).astype(np.float32), rng.normal(size=(9, 2)).astype(np.float32)
    )
    network, likelihood = sb.networks.mlp(hidden=(), outputs=4), sb.likelihoods.HeteroscedasticGaussian(0.2)
    posterior = sb.Posterior(network, likelihood, sb.priors.Normal(), train)
    means, raw = np.split(outputs, 2, axis=-1)
    assert_is_mixture(posterior.predict(draws, x), means, 0.2 + np.logaddexp(0, raw))
    variables = trees.index(draws.variables, (1, 2))
    of_train = np.asarray(train.x, np.float64) @ variables["params"]["output"]["kernel"]
    means, raw = np.split(of_train + variables["params"]["output"]["bias"], 2, axis=-1)
    expected = scipy.stats.norm.logpdf(train.y, means, 0.2 + np.logaddexp(0, raw)).sum()
    assert float(posterior.likelihood_terms(variables).sum()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros(5, np.float32), r"inputs have an axis over examples, not shape \(5,\)"),
        (np.zeros((0, 8, 8, 1), np.float32), r"inputs have an axis over examples, not shape \(0, 8, 8, 1\)"),
        (np.zeros((2, 5), np.float32), r"hidden1/kernel has shape \(64, 6\), but for inputs of shape \(5,\)"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(tiny: Any, draws: Any, inputs: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny.predict(draws, inputs)


def test_no_draws_are_refused(tiny: sb.Posterior, x: np.ndarray) -> None:
    with pytest.raises(ValueError, match="there are no draws to predict with"):
        tiny.predict(sb.Draws([]), x)


def test_draws_of_another_network_are_refused(tiny: sb.Posterior, x: np.ndarray) -> None:
    foreign = {"params": {"layer": {"kernel": np.zeros((1, 1, 64, 10), np.float32)}}}
    with pytest.raises(
        ValueError, match=r"variables of another network: missing .*hidden1/bias.* surplus .*layer"
    ):
        tiny.predict(sb.Draws.from_variables(foreign), x)
