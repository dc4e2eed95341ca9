"""A noise that is learnt with the weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import symbayes as sb
from symbayes.networks import session
from symbayes.networks.noise import WithNoise
from symbayes.posterior.likelihoods import LearnedNoise

SEED = int(np.random.SeedSequence().generate_state(1)[0])


def test_the_density_is_that_of_normals_around_the_outputs():
    rng = np.random.default_rng(SEED)
    means, raw, y = (rng.normal(size=(5, 2)).astype(np.float32) for _ in range(3))
    likelihood = LearnedNoise(0.3)
    outputs, y = jnp.concatenate([means, raw], axis=1), jnp.asarray(y)
    expected = norm.logpdf(y, means, 0.3 * np.exp(raw)).sum(axis=1)
    np.testing.assert_allclose(likelihood.log_prob(outputs, y), expected, rtol=2e-5, err_msg=str(SEED))
    predictive = likelihood.predictive(np.asarray(likelihood.predict(outputs))[None, None])
    np.testing.assert_allclose(-predictive.losses(y), expected, rtol=2e-5)


def test_a_network_that_does_not_tell_the_noise_is_refused():
    with pytest.raises(ValueError, match=r"need 2 outputs, but the network has 1: .* networks.with_noise"):
        LearnedNoise().check((3, 1), np.zeros((3, 1), np.float32))


def test_a_network_with_noise_is_the_network_and_one_parameter_for_each_target():
    inner = sb.networks.mlp(hidden=(3,), outputs=2)
    network = sb.networks.with_noise(inner)
    x = jnp.asarray(np.random.default_rng(SEED).normal(size=(4, 5)), jnp.float32)
    variables = network.init(jax.random.key(0), x)
    assert variables["params"]["noise"]["log_scale"].shape == (2,)
    variables["params"]["noise"]["log_scale"] = np.array([1.0, -2.0], np.float32)
    outputs = network.apply(variables, x)
    np.testing.assert_array_equal(outputs[:, :2], inner.apply(inner.init(jax.random.key(0), x), x))
    np.testing.assert_array_equal(outputs[:, 2:], np.tile([1.0, -2.0], (4, 1)))
    trained, _ = network.apply_train(variables, x, jax.random.key(1))
    np.testing.assert_allclose(trained, outputs, rtol=1e-6)
    sb.networks.require_storable(network)
    assert isinstance(network.spec, WithNoise)
    group = sb.symmetry.discover(network.apply, variables, x)
    assert group.permutations
    own = sb.networks.with_noise(
        sb.networks.from_functions(lambda k, x: {"w": x[0]}, lambda p, x: x @ p["w"])
    )
    assert session.session_code(own) is not None


def test_hmc_finds_the_noise():
    """Of 400 residuals with standard deviation 0.4, its posterior is 0.4 within 0.4 / sqrt(800)."""
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(400, 1)).astype(np.float32)
    noise = rng.normal(size=(400, 1))
    y = (0.7 * x + 0.4 * noise / noise.std()).astype(np.float32)
    posterior = sb.Posterior(
        sb.networks.with_noise(sb.networks.mlp(hidden=(), outputs=1)),
        LearnedNoise(0.2),
        sb.priors.PerLayer({"noise/*": sb.priors.Normal(1.0)}, rest=sb.priors.Normal(1.0)),
        sb.data.Examples(x, y),
    )
    drawn = sb.run(sb.HMC(0.02, trajectory=0.3, burn_in=300, draws=200, chains=4), posterior)
    scales = 0.2 * np.exp(drawn.variables["params"]["noise"]["log_scale"])
    assert abs(scales.mean() - 0.4) < 0.03, SEED
    assert 0.4 * scales.std() < 0.4 / np.sqrt(800) < 3 * scales.std(), SEED
    predictive = posterior.predict(drawn, x[:7])
    np.testing.assert_allclose(predictive.aleatoric, np.sqrt(np.mean(scales**2)), rtol=1e-5)
