"""Draws that predict otherwise than by a plain forward pass, against NumPy and enumeration."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import symbayes as sb
from symbayes import trees
from symbayes.data import Examples
from symbayes.distributions import Delta, Gaussian, Mixture, to_arrays
from symbayes.draws.forward import Forward
from symbayes.draws.joining import joined
from symbayes.posterior.prediction import log_likelihoods

CHAINS, DRAWS, INPUTS = 2, 3, 5


@pytest.fixture(scope="module")
def tanh(digits: sb.data.Dataset) -> sb.Posterior:
    """With a smooth network, which its linear part is not."""
    return sb.Posterior(
        sb.networks.mlp(hidden=(4,), outputs=10, activation="tanh"),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(0.5),
        digits.train[:16],
    )


def fitted(posterior: sb.Posterior, spread: float) -> Gaussian:
    """One diagonal Gaussian for each chain."""
    location = jax.vmap(posterior.init)(jax.random.split(jax.random.key(3), CHAINS))
    weights = {"params": location["params"]}
    noise = jax.tree.map(lambda leaf: spread * (1 + jnp.square(leaf)), weights)
    return Gaussian(
        location, noise, jax.tree.map(lambda leaf: jnp.zeros((CHAINS, 0, *leaf.shape[1:])), weights)
    )


def drawn(law: Gaussian, kind: Any, count: int = DRAWS) -> sb.Draws:
    keys = jax.random.split(jax.random.key(4), (CHAINS, count))
    variables = jax.vmap(lambda one, each: jax.vmap(one.sample)(each))(law, keys)
    forward = Forward.of(kind, to_arrays(Mixture(law)))
    return dataclasses.replace(sb.Draws.from_variables(variables), forward=forward)


def jacobians(network: Any, variables: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Outputs (n, k) and their slopes (n, k, weight), in natural order."""

    def function(params: Any) -> jax.Array:
        return network.apply({**variables, "params": params}, jnp.asarray(x))

    slopes = jax.jacfwd(function)(variables["params"])
    return np.asarray(function(variables["params"])), np.asarray(trees.ravel(slopes, 2))


def test_linearised_draws_predict_by_the_tangent_at_the_mean(tanh: sb.Posterior, digits: Any) -> None:
    law, x = fitted(tanh, 0.3), digits.test.x[:INPUTS]
    draws = drawn(law, "linearised")
    made = tanh.predict(draws, x)
    for c, d in np.ndindex(CHAINS, DRAWS):
        mean = trees.index(law.mean, c)
        value, slopes = jacobians(tanh.network, mean, x)
        away = np.asarray(
            trees.ravel(trees.index(draws.variables, (c, d))["params"]) - trees.ravel(mean["params"])
        )
        expected = scipy.special.softmax(value + slopes @ away, axis=-1)
        np.testing.assert_allclose(made.every[c, d], expected, atol=2e-5)
    plain = tanh.predict(dataclasses.replace(draws, forward=Forward()), x)
    assert np.abs(made.every - plain.every).max() > 0.01, "the network is not linear"


def test_closed_form_is_the_probit_of_the_linearised_network(tanh: sb.Posterior, digits: Any) -> None:
    law, x = fitted(tanh, 0.1), digits.test.x[:INPUTS]
    draws = drawn(law, "closed-form", 1)
    made = tanh.predict(draws, x)
    for c in range(CHAINS):
        value, slopes = jacobians(tanh.network, trees.index(law.mean, c), x)
        variance = slopes**2 @ np.asarray(trees.ravel(trees.index(law.diagonal, c)["params"]))
        expected = scipy.special.softmax(value / np.sqrt(1 + np.pi * variance / 8), axis=-1)
        np.testing.assert_allclose(made.every[c, 0], expected, atol=1e-5)
    y = np.asarray(digits.test.y[:INPUTS])
    found = log_likelihoods(tanh.network, tanh.likelihood, draws, Examples(x, y))
    np.testing.assert_allclose(found[:, 0], np.log(made.every[:, 0, np.arange(INPUTS), y]), rtol=1e-4)


def test_closed_form_of_regression_is_exact_for_a_linear_network(linear: Any) -> None:
    """As the mean and spread of many plain draws, with the noise."""
    posterior, _, _ = linear
    law, x = fitted(posterior, 0.2), np.asarray([[0.5, -1.0], [2.0, 1.0]], np.float32)
    draws = drawn(law, "closed-form", 1)
    made = posterior.predict(draws, x)
    design = np.concatenate([np.ones((2, 1)), x], axis=1)
    for c in range(CHAINS):
        mean, variance = (
            np.asarray(trees.ravel(trees.index(t, c)["params"])) for t in (law.mean, law.diagonal)
        )
        np.testing.assert_allclose(made.means[c, 0, :, 0], design @ mean, rtol=1e-5)
        np.testing.assert_allclose(made.noise[c, 0, :, 0], np.sqrt(0.25 + design**2 @ variance), rtol=1e-5)
    y = np.ones((2, 1), np.float32)
    found = log_likelihoods(
        posterior.network, posterior.likelihood, drawn(law, "closed-form", 1), Examples(x, y)
    )
    expected = scipy.stats.norm.logpdf(y, made.means[:, 0], made.noise[:, 0])[..., 0]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-4)


def test_keyed_draws_predict_with_their_own_keys(digits: Any) -> None:
    network = sb.networks.mlp(hidden=(8,), outputs=10, dropout=0.5)
    posterior = sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(), digits.train[:16])
    variables = jax.tree.map(lambda leaf: np.asarray(leaf)[None, None], posterior.init(jax.random.key(0)))
    keys = jax.random.split(jax.random.key(1), (1, DRAWS))
    repeated = jax.tree.map(lambda leaf: np.repeat(leaf, DRAWS, axis=1), variables)
    made = sb.Draws.from_variables(repeated, {"key": np.asarray(jax.random.key_data(keys))})
    draws = dataclasses.replace(made, forward=Forward("keyed"))
    x, one = digits.test.x[:INPUTS], trees.index(variables, (0, 0))
    probs = posterior.predict(draws, x).every
    for d in range(DRAWS):
        expected = jax.nn.softmax(network.apply(one, jnp.asarray(x), keys[0, d]))
        np.testing.assert_allclose(probs[0, d], expected, atol=1e-6)
    assert np.unique(probs.reshape(DRAWS, -1), axis=0).shape[0] == DRAWS
    np.testing.assert_array_equal(posterior.predict(draws.select(draws=[2]), x).every[:, 0], probs[:, 2])
    with pytest.raises(ValueError, match="have lost their keys"):
        posterior.predict(dataclasses.replace(sb.Draws.from_variables(repeated), forward=Forward("keyed")), x)


def test_forward_stays_with_the_draws(tanh: sb.Posterior, digits: Any, tmp_path: Path) -> None:
    x = digits.test.x[:INPUTS]
    draws = drawn(fitted(tanh, 0.3), "linearised")
    expected = tanh.predict(draws, x).every
    draws.save(tmp_path / "draws.safetensors")
    loaded = sb.Draws.load(tmp_path / "draws.safetensors")
    assert loaded.shapes == draws.shapes
    for same in (loaded, joined([draws.select([0]), draws.select([1])])):
        np.testing.assert_array_equal(tanh.predict(same, x).every, expected)
    second = draws.select([1], [0, 2])
    np.testing.assert_allclose(tanh.predict(second, x).every, expected[1:, [0, 2]], atol=1e-6)
    longer = joined([draws, draws.thin(2)], "draw")
    np.testing.assert_allclose(tanh.predict(longer, x).every[:, DRAWS:], expected[:, [0, 2]], atol=1e-6)


def test_what_does_not_belong_together_is_refused(tanh: sb.Posterior) -> None:
    draws, other = (drawn(fitted(tanh, spread), "linearised") for spread in (0.3, 0.4))
    fresh = tanh.init(jax.random.key(0))
    group = sb.symmetry.discover(tanh.network.apply, fresh, tanh.train.x[:2])
    with pytest.raises(ValueError, match="side by side: use along='chain'"):
        joined([draws, other], "draw")
    with pytest.raises(ValueError, match=r"in different ways \(linearised, plain\)"):
        joined([draws, dataclasses.replace(other, forward=Forward())])
    with pytest.raises(ValueError, match="linearised at the mean cannot be aligned"):
        sb.symmetry.align(draws, group)


def test_variances_of_linear_functions_are_those_of_the_law() -> None:
    rng = np.random.default_rng(5)
    location = {"params": {"a": rng.normal(size=(2, 3)), "b": rng.normal(size=2)}, "stats": {}}
    diagonal = {"params": jax.tree.map(np.square, location["params"])}
    factors = {"params": jax.tree.map(lambda leaf: rng.normal(size=(2, *leaf.shape)), location["params"])}
    one = Gaussian(location, diagonal, factors)
    slopes = {"params": jax.tree.map(lambda leaf: rng.normal(size=(4, *leaf.shape)), location["params"])}
    flat, u = (np.asarray(trees.ravel(tree, 1)) for tree in (slopes, factors))
    covariance = np.diag(np.asarray(trees.ravel(diagonal))) + u.T @ u
    expected = np.einsum("ki,ij,kj->k", flat, covariance, flat)
    np.testing.assert_allclose(one.variances(slopes), expected, rtol=1e-5)
    np.testing.assert_array_equal(Delta(location).variances(slopes), np.zeros(4))
    pair = jax.tree.map(lambda leaf: np.stack([leaf, 2 * leaf]), one)
    twice = Gaussian(*(jax.tree.map(lambda leaf: 2 * leaf, part) for part in (location, diagonal, factors)))
    means = flat @ np.asarray(trees.ravel({"params": location["params"]}))
    within = (one.variances(slopes) + twice.variances(slopes)) / 2
    between = np.var([means, 2 * means], axis=0)
    np.testing.assert_allclose(Mixture(pair).variances(slopes), within + between, rtol=1e-4)
