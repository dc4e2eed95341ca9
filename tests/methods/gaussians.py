"""Whether draws have the mean and covariance that they should, within Monte-Carlo error."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

import symbayes as sb
from symbayes.engine import Method
from symbayes.posterior.posterior import Tempers

STANDARD_ERRORS = 4.5
"""A correct mean is further off than this in 1 of 150,000 trials."""


def tempered(posterior: sb.Posterior, temperature: float, tempers: Tempers = "posterior") -> sb.Posterior:
    """The same posterior at another temperature."""
    train = jax.tree.map(np.asarray, posterior.train)
    return sb.Posterior(
        posterior.network,
        posterior.likelihood,
        posterior.prior,
        train,
        temperature=temperature,
        tempers=tempers,
    )


@functools.cache
def correlated() -> tuple[sb.Posterior, np.ndarray, np.ndarray]:
    """A Gaussian of three weights with a correlation of -0.93, its mean and covariance.

    As a linear regression whose inputs are nearly collinear and far from zero, with as many examples as that
    of `linear`: what is compiled for one serves for both.
    """
    rng, noise, scale, n = np.random.default_rng(11), 0.6, 1.2, 24
    x = (rng.normal(size=(n, 1)) + 0.25 * rng.normal(size=(n, 2)) + 0.7).astype(np.float32)
    y = (x @ np.array([[0.8], [-0.4]]) + noise * rng.normal(size=(n, 1))).astype(np.float32)
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(), outputs=1),
        sb.likelihoods.Gaussian(scale=noise),
        sb.priors.Normal(scale=scale),
        sb.data.Examples(x, y),
    )
    design = np.concatenate([np.ones((n, 1)), x], axis=1).astype(np.float64)
    covariance = np.linalg.inv(design.T @ design / noise**2 + np.eye(3) / scale**2)
    return posterior, covariance @ design.T @ y[:, 0].astype(np.float64) / noise**2, covariance


def weights(draws: sb.Draws) -> np.ndarray:
    """Draws of a linear regression as (chain, draw, [bias, kernel])."""
    output = draws.variables["params"]["output"]
    return np.concatenate([output["bias"], output["kernel"][..., 0]], axis=-1).astype(np.float64)


def errors_of(drawn: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """How far means and covariances of draws (chain, draw, weight) are off, in standard errors.

    They are taken in coordinates that whiten the law that is expected, in which all of them are zero or one.
    """
    white = np.linalg.solve(np.linalg.cholesky(covariance), (drawn - mean)[..., None])[..., 0]
    first, second = np.tril_indices(len(mean))
    series = np.concatenate([white, white[..., first] * white[..., second]], axis=-1)
    expected = np.concatenate([np.zeros(len(mean)), first == second])
    effective = sb.evaluate.ess_bulk(series)
    assert effective.min() > 400, "the test would see an error of some per cent"
    return (series.mean(axis=(0, 1)) - expected) / (series.std(axis=(0, 1)) / np.sqrt(effective))


def drawn(method: Method, posterior: sb.Posterior, seed: int = 0, start: Any = None) -> np.ndarray:
    return weights(sb.run(method, posterior, seed=seed, start=start, progress=False))
