"""The exact samplers against numpyro's NUTS, on the predictive of a small network.

The numbers of numpyro are stored; with ``SYMBAYES_PEERS`` set, they are held against those of a new run.
"""

import json
import os
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb

STANDARD_ERRORS = 4.5
"""A correct mean is further off than this in 1 of 150,000 trials."""

CHAINS = 16
DEPTH = 6
"""Most trees turn before they are this deep, and all of 16 chains wait for the deepest."""
METHODS: dict[str, Any] = {
    "hmc": sb.HMC(burn_in=100, draws=200, chains=CHAINS),
    "nuts": sb.NUTS(burn_in=100, draws=200, chains=CHAINS, depth=DEPTH),
    "mala": sb.MALA(thin=30, burn_in=100, draws=200, chains=CHAINS),
    "adjusted-mclmc": sb.AdjustedMCLMC(burn_in=100, draws=200, chains=CHAINS),
}


@pytest.fixture(scope="module")
def small() -> sb.Posterior:
    rng = np.random.default_rng(8)
    x = rng.uniform(-2, 2, size=(12, 1)).astype(np.float32)
    y = (np.sin(2 * x) + 0.3 * rng.normal(size=x.shape)).astype(np.float32)
    network = sb.networks.mlp(hidden=(3,), outputs=1, activation="tanh")
    return sb.Posterior(network, sb.likelihoods.Gaussian(0.3), sb.priors.Normal(1.0), sb.data.Examples(x, y))


def features(posterior: sb.Posterior, variables: Any) -> np.ndarray:
    """Predictions at seven inputs and the log likelihood of draws, (chain, draw, feature)."""
    at = jnp.linspace(-2, 2, 7)[:, None]

    def one(variables: Any) -> jax.Array:
        outputs = posterior.network.apply(variables, at)[:, 0]
        return jnp.append(outputs, posterior.likelihood_terms(variables).sum())

    return np.asarray(jax.jit(jax.vmap(jax.vmap(one)))(variables), np.float64)


def moments(series: np.ndarray) -> np.ndarray:
    """Means of features, and the variances of these means."""
    size = sb.evaluate.ess_bulk(series)
    print("effective sizes", size.min().round())
    assert size.min() > 100
    return np.stack([series.mean(axis=(0, 1)), series.var(axis=(0, 1)) / size])


def assert_equal_means(one: np.ndarray, other: np.ndarray) -> None:
    """Eight means that differ by less than 4.5 standard errors: false for one seed in 18,000."""
    errors = (one[0] - other[0]) / np.sqrt(one[1] + other[1])
    print(np.round(errors, 1))
    assert np.abs(errors).max() < STANDARD_ERRORS


THEIRS = json.loads((Path(__file__).parent / "numpyro_nuts.json").read_text())


def by_numpyro(small: sb.Posterior, draws: int) -> np.ndarray:
    from numpyro import infer  # here, since it takes a second to import

    def energy(params: Any) -> jax.Array:
        return -small.log_density({"params": params, "stats": {}})

    keys = jax.random.split(jax.random.key(5), CHAINS)
    begin = jax.vmap(lambda key: small.init(key)["params"])(keys)
    run = infer.MCMC(
        infer.NUTS(potential_fn=energy, max_tree_depth=DEPTH),
        num_warmup=200,
        num_samples=draws,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    run.run(jax.random.key(1), init_params=begin)
    params = run.get_samples(group_by_chain=True)
    return moments(features(small, {"params": params, "stats": {}}))


@pytest.mark.skipif("SYMBAYES_PEERS" not in os.environ, reason="runs numpyro anew: set SYMBAYES_PEERS")
def test_stored_numbers_are_those_of_numpyro(small: sb.Posterior) -> None:
    assert_equal_means(by_numpyro(small, 400), np.array(THEIRS["means_and_their_variances"]))


@pytest.mark.parametrize("name", METHODS)
def test_predictive_is_that_of_numpyro(small: sb.Posterior, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the few trees that diverge
        mine = moments(features(small, sb.run(METHODS[name], small, seed=1, progress=False).variables))
    assert_equal_means(mine, np.array(THEIRS["means_and_their_variances"]))
