"""The exact samplers against numpyro's NUTS, on the predictive of a small network."""

import warnings
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
    "hmc": sb.HMC(burn_in=100, draws=400, chains=CHAINS),
    "nuts": sb.NUTS(burn_in=100, draws=400, chains=CHAINS, depth=DEPTH),
    "mala": sb.MALA(thin=30, burn_in=100, draws=400, chains=CHAINS),
    "adjusted-mclmc": sb.AdjustedMCLMC(burn_in=100, draws=400, chains=CHAINS),
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


@pytest.fixture(scope="module")
def theirs(small: sb.Posterior) -> np.ndarray:
    from numpyro import infer  # here, since it takes a second to import

    def energy(params: Any) -> jax.Array:
        return -small.log_density({"params": params, "stats": {}})

    keys = jax.random.split(jax.random.key(5), CHAINS)
    begin = jax.vmap(lambda key: small.init(key)["params"])(keys)
    run = infer.MCMC(
        infer.NUTS(potential_fn=energy, max_tree_depth=DEPTH),
        num_warmup=200,
        num_samples=400,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    run.run(jax.random.key(1), init_params=begin)
    params = run.get_samples(group_by_chain=True)
    return features(small, {"params": params, "stats": {}})


@pytest.mark.parametrize("name", METHODS)
def test_predictive_is_that_of_numpyro(small: sb.Posterior, theirs: np.ndarray, name: str) -> None:
    """Eight means that differ by less than 4.5 standard errors: false for one seed in 18,000."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the few trees that diverge
        mine = features(small, sb.run(METHODS[name], small, seed=1, progress=False).variables)
    both = (mine, theirs)
    sizes = [sb.evaluate.ess_bulk(series) for series in both]
    print(name, [size.min().round() for size in sizes])
    assert min(size.min() for size in sizes) > 100
    variance = sum(series.var(axis=(0, 1)) / size for series, size in zip(both, sizes, strict=True))
    gap = mine.mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))
    print(np.round(gap / np.sqrt(variance), 1))
    assert np.abs(gap / np.sqrt(variance)).max() < STANDARD_ERRORS
