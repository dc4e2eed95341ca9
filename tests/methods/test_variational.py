"""Mean-field variational inference against linear regression, where everything is known in closed form."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

import symbayes as sb
from symbayes import trees
from symbayes.methods.phases.variational import divergence

MEANS, SCALES = np.array([0.2, 0.9, -0.4]), np.array([0.3, 0.1, 0.2])
"""Of bias and kernel, for tests in which nothing moves."""


def as_params(vector: Any) -> dict[str, Any]:
    vector = np.asarray(vector, np.float32)
    return {"output": {"bias": vector[:1], "kernel": vector[1:, None]}}


def as_vector(params: Any) -> np.ndarray:
    output = jax.tree.map(np.asarray, params["output"])
    bias, kernel = output["bias"], output["kernel"][..., 0]
    return np.concatenate([bias, kernel], axis=-1).astype(np.float64)


def fitted(drawn: sb.Draws) -> tuple[np.ndarray, np.ndarray]:
    """Means and log scales of the Gaussian of every chain."""
    gaussians: Any = drawn.origin.distribution if drawn.origin else None
    location, diagonal = gaussians.components.location, gaussians.components.diagonal
    return as_vector(location["params"]), np.log(as_vector(diagonal["params"])) / 2


def with_temperature(posterior: sb.Posterior, temperature: float) -> sb.Posterior:
    train = jax.tree.map(np.asarray, posterior.train)
    return sb.Posterior(
        posterior.network, posterior.likelihood, posterior.prior, train, temperature=temperature
    )


def expected_likelihood(posterior: sb.Posterior, means: np.ndarray, scales: np.ndarray) -> float:
    """E_q[log p(D | w)] for independent normal weights: a Gaussian's, plus what the spread of w costs."""
    x, y = (np.asarray(part, np.float64) for part in (posterior.train.x, posterior.train.y))
    design = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    noise = float(posterior.likelihood.scale)
    at_mean = stats.norm.logpdf(y[:, 0], design @ means, noise).sum()
    return float(at_mean - np.sum(design**2 @ scales**2) / (2 * noise**2))


def normal_divergence(means: np.ndarray, scales: np.ndarray, prior: float) -> float:
    ratio = scales / prior
    return float(np.sum(-np.log(ratio) + (ratio**2 + (means / prior) ** 2 - 1) / 2))


@pytest.mark.parametrize("temperature", [1.0, 0.4])
def test_the_best_gaussian_has_the_exact_mean_and_the_inverse_diagonal_of_the_precision(
    linear: Any, temperature: float
) -> None:
    posterior, mean, covariance = linear
    precision = np.linalg.inv(covariance) / temperature
    method = sb.MeanField(
        learning_rate=0.05, epochs=1500, batch=24, scale=0.1, optimizer="sgd", chains=64, draws=1
    )
    drawn = sb.run(method, with_temperature(posterior, temperature), progress=False)
    means, log_scales = fitted(drawn)
    errors = (means.mean(axis=0) - mean) * np.sqrt(np.diag(precision))
    assert np.abs(errors).max() < 0.05, "in standard deviations"
    ratios = np.exp(2 * log_scales) * np.diag(precision)
    error = ratios.std(axis=0) / np.sqrt(len(ratios))
    assert error.max() < 0.02
    assert np.abs((ratios.mean(axis=0) - 1) / error).max() < 4.5
    assert drawn.origin is not None
    (sentence,) = method.tell(drawn.origin.traces)
    assert sentence.startswith("lower bound on the log evidence, in the last epoch of each chain: -")


def test_the_bound_is_that_of_the_closed_form_and_below_the_evidence(linear: Any) -> None:
    """While the Gaussian hardly moves, estimates from epochs and from draws have the bound as their mean."""
    posterior, _, _ = linear
    scales = np.full(3, 0.2)
    bound = expected_likelihood(posterior, MEANS, scales) - normal_divergence(MEANS, scales, 0.8)
    method = sb.MeanField(learning_rate=1e-9, epochs=100, batch=8, scale=0.2, chains=8, draws=100)
    start = {"params": as_params(MEANS), "stats": {}}
    drawn = sb.run(method, posterior, start=start, progress=False)
    assert drawn.origin is not None
    for estimates in (drawn.origin.traces["elbo"], drawn.stats["elbo"]):
        each = np.asarray(estimates, np.float64).ravel()
        error = each.std() / np.sqrt(each.size)
        assert error < 1.5
        assert abs(each.mean() - bound) < 4.5 * error
    x, y = (np.asarray(part, np.float64) for part in (posterior.train.x, posterior.train.y))
    design = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    covariance = 0.5**2 * np.eye(len(x)) + 0.8**2 * design @ design.T
    assert bound < stats.multivariate_normal.logpdf(y[:, 0], cov=covariance)


def test_divergence_is_summed_over_all_weights_in_closed_form_for_normal_priors(linear: Any) -> None:
    posterior = linear[0]
    key, moving = jax.random.key(0), (as_params(MEANS), as_params(np.log(SCALES)))
    expected = normal_divergence(MEANS, SCALES, 0.8)
    assert divergence(posterior, *moving, key) == pytest.approx(expected, rel=1e-5)
    layers = sb.priors.PerLayer({"*/bias": sb.priors.Normal(2.0)}, rest=sb.priors.Normal(0.3))
    train = jax.tree.map(np.asarray, posterior.train)
    apart = sb.Posterior(posterior.network, posterior.likelihood, layers, train, temperature=0.5)
    each = normal_divergence(MEANS[:1], SCALES[:1], 2.0) + normal_divergence(MEANS[1:], SCALES[1:], 0.3)
    entropy = stats.norm.entropy(MEANS, SCALES).sum()
    # At half the temperature the expected log prior counts twice, the entropy once.
    assert divergence(apart, *moving, key) == pytest.approx(2 * each + entropy, rel=1e-5)


def test_divergence_from_other_priors_is_estimated_without_bias(linear: Any) -> None:
    posterior = linear[0]
    train = jax.tree.map(np.asarray, posterior.train)
    other = sb.Posterior(posterior.network, posterior.likelihood, sb.priors.Laplace(0.5), train)
    moving = as_params(MEANS), as_params(np.log(SCALES))
    estimates = jax.vmap(lambda key: divergence(other, *moving, key))(
        jax.random.split(jax.random.key(3), 4000)
    )
    # The mean of |w| under a normal law is that of the folded normal law.
    folded = stats.foldnorm.mean(np.abs(MEANS) / SCALES, scale=SCALES)
    expected = np.sum(folded / 0.5 + np.log(2 * 0.5)) - stats.norm.entropy(MEANS, SCALES).sum()
    error = float(np.std(estimates)) / np.sqrt(4000)
    assert abs(float(np.mean(estimates)) - expected) < 4.5 * error


def test_warm_up_takes_off_a_part_of_the_divergence(linear: Any) -> None:
    """One step of plain descent: halfway through the warm-up, half of the divergence's slope is missing."""
    posterior, rate = linear[0], 1e-2
    start = {"params": as_params(MEANS), "stats": {}}
    plain = sb.MeanField(
        rate, epochs=1, batch=24, scale=0.2, optimizer="sgd", schedule="constant", draws=1, chains=1
    )
    ended = []
    for method in (plain, dataclasses.replace(plain, kl_warmup=1.0)):
        drawn = sb.run(method, posterior, start=start, progress=False)
        means, log_scales = fitted(drawn)
        ended.append((means[0], log_scales[0]))
    half = rate / 2 / 24
    np.testing.assert_allclose(ended[1][0] - ended[0][0], half * MEANS / 0.8**2, rtol=1e-3, atol=1e-7)
    np.testing.assert_allclose(ended[1][1] - ended[0][1], half * ((0.2 / 0.8) ** 2 - 1), rtol=1e-2)


def test_the_mean_is_trained_before_or_comes_from_a_start(tiny: sb.Posterior) -> None:
    method = sb.MeanField(train=3, epochs=2, batch=64)
    assert [phase.units for phase in method.phases(tiny)] == [3, 2, 50]
    assert [phase.units for phase in method.started().phases(tiny)] == [0, 2, 50]
    assert trees.size(tiny.init(jax.random.key(0))) == 460


def test_a_run_names_the_parameters_that_all_examples_share(tiny: sb.Posterior) -> None:
    assert sb.MeanField().notes(tiny) == []
    network = sb.networks.transformer(outputs=2, vocabulary=9, width=4, heads=1, layers=1, hidden=4)
    tokens = sb.data.Examples(np.zeros((6, 3), np.int32), np.zeros(6, np.int32))
    posterior = sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(1.0), tokens)
    (sentence,) = sb.MeanField(batch=4).notes(posterior)
    assert sentence == "noise that all examples of a mini-batch share: embedding"
    assert sb.MeanField(batch=4, estimator="shared").notes(posterior) == []
