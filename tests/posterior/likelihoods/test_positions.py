"""Outputs with positions: one label or target for each pixel, from the likelihood to predictions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import symbayes as sb
from symbayes import symmetry
from symbayes.posterior import CategoricalPredictive, GaussianPredictive

Categorical, Gaussian = sb.likelihoods.Categorical, sb.likelihoods.Gaussian
Heteroscedastic = sb.likelihoods.HeteroscedasticGaussian


@pytest.fixture(scope="module")
def halves() -> sb.data.Dataset:
    return sb.data.load("digits-halves")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def test_log_probabilities_are_summed_over_positions(rng: np.random.Generator) -> None:
    outputs = rng.normal(size=(5, 3, 2, 4)).astype(np.float32)
    labels = rng.integers(0, 4, size=(5, 3, 2)).astype(np.int32)
    logs = scipy.special.log_softmax(outputs.astype(np.float64), axis=-1)
    expected = np.take_along_axis(logs, labels[..., None], axis=-1).sum(axis=(1, 2, 3))
    logits = jnp.asarray(outputs)
    np.testing.assert_allclose(Categorical().log_prob(logits, jnp.asarray(labels)), expected, rtol=1e-5)
    y = rng.normal(size=outputs.shape).astype(np.float32)
    expected = scipy.stats.norm.logpdf(y, outputs, 0.7).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(Gaussian(0.7).log_prob(logits, jnp.asarray(y)), expected, rtol=1e-5)
    means, raw = np.split(outputs.astype(np.float64), 2, axis=-1)
    expected = scipy.stats.norm.logpdf(y[..., :2], means, 0.1 + np.logaddexp(0, raw)).sum(axis=(1, 2, 3))
    found = Heteroscedastic(0.1).log_prob(logits, jnp.asarray(y[..., :2]))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("likelihood", "outputs", "y", "message"),
    [
        (
            Categorical(),
            (1, 3, 2, 4),
            np.zeros(5, int),
            r"one integer per example and position, of shape \(n, 3, 2\), not int64 of shape \(5,\)",
        ),
        (Categorical(), (1, 3, 2, 4), np.zeros((5, 2, 3), int), r"of shape \(n, 3, 2\)"),
        (Categorical(), (1, 2, 4), np.full((5, 2), 4), "labels run from 4 to 4, .* outputs for 0 to 3"),
        (Gaussian(), (1, 3, 2, 1), np.zeros((5, 3, 2)), r"targets have shape \(n, 3, 2, 1\) and are real"),
        (Gaussian(), (1, 2, 1), np.full((5, 2, 1), np.nan), "NaN or infinity in 5 of 5 examples"),
        (Heteroscedastic(), (1, 3, 4), np.zeros((5, 2, 2)), r"targets have shape \(n, 3, k\)"),
        (Heteroscedastic(), (1, 3, 2), np.zeros((5, 3, 2)), "2 targets .* need 4 outputs, .* has 2"),
    ],
)
def test_targets_that_do_not_fit_are_refused(likelihood: Any, outputs: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        likelihood.check(outputs, y)


def test_labels_are_told_as_they_are() -> None:
    """Not as if a zero were among them."""
    with pytest.raises(ValueError, match="labels run from 1 to 3, but the network has outputs for 0 to 2"):
        Categorical().check((1, 3), np.array([1, 2, 3]))
    Categorical().check((1, 3), np.zeros(0, int))


def test_pictures_are_predicted_and_their_network_has_its_symmetries(halves: sb.data.Dataset) -> None:
    network = sb.networks.make("mlp", hidden=(5,), **halves.sizes)
    posterior = sb.Posterior(network, Gaussian(0.2), sb.priors.Normal(0.5), halves.train[:40], chunk=16)
    variables = posterior.init(jax.random.key(0))
    outputs = np.asarray(network.apply(variables, jnp.asarray(halves.train.x[:40])), np.float64)
    assert outputs.shape == (40, 8, 4, 1)
    expected = scipy.stats.norm.logpdf(halves.train.y[:40], outputs, 0.2).sum()
    assert float(posterior.likelihood_terms(variables).sum()) == pytest.approx(expected, rel=1e-5)
    made = posterior.predict(variables, halves.test.x[:3])
    assert isinstance(made, GaussianPredictive)
    assert made.mean.shape == made.std.shape == (3, 8, 4, 1)
    assert made.log_density(halves.test.y[:3]).shape == (3, 8, 4)
    group = symmetry.discover(network.apply, variables, jnp.asarray(halves.train.x[:2]))
    assert [p.size for p in group.permutations] == [5]
    moved = group.act(group.random_element(jax.random.key(1)), variables)
    x = jnp.asarray(halves.test.x[:3])
    np.testing.assert_allclose(network.apply(moved, x), network.apply(variables, x), atol=1e-4)


def test_the_observer_follows_every_kind_of_output(halves: sb.data.Dataset) -> None:
    x, bright = halves.train.x[:30], (np.asarray(halves.train.y[:30, ..., 0]) > 0.5).astype(np.int32)
    kinds = {
        "reals": (Gaussian(0.2), (8, 4, 1), halves.train.y[:30]),
        "noisy": (Heteroscedastic(0.1), (8, 4, 2), halves.train.y[:30]),
        "classes": (Categorical(), (8, 4, 2), bright),
    }
    method = sb.HMC(step_size=1e-3, trajectory=2e-3, burn_in=1, draws=5, chains=2, adapt=False)
    for likelihood, outputs, y in kinds.values():
        network = sb.networks.mlp(hidden=(3,), outputs=outputs)
        posterior = sb.Posterior(network, likelihood, sb.priors.Normal(), sb.data.Examples(x, y))
        draws = sb.run(method, posterior, observers=[sb.Predictions(x[:4])], progress=False)
        seen, made = draws.observed["predictions"], posterior.predict(draws, x[:4])
        assert int(seen["count"]) == made.count == 10
        names = (
            ("entropy", "mutual_information")
            if isinstance(made, CategoricalPredictive)
            else ("std", "aleatoric", "epistemic")
        )
        np.testing.assert_allclose(seen.get("probs", seen.get("mean")), made.mean, atol=1e-6)
        for name in names:
            np.testing.assert_allclose(seen[name], getattr(made, name), atol=1e-5)
