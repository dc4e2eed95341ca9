"""The statistics that every draw has: its energy, and the log likelihood of all training data."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from symbayes.posterior import Posterior
from symbayes.posterior.numerics.sums import compensated


def energies(posterior: Posterior, params: Any, terms: jax.Array) -> dict[str, jax.Array]:
    """The statistics of parameters with these `likelihood_terms`; the energy is minus the log density."""
    log_likelihood = compensated(terms)
    log_prior = posterior.prior.log_density(params)
    return {
        "energy": -posterior.likelihood_weight * log_likelihood - posterior.prior_weight * log_prior,
        "log_likelihood": log_likelihood,
    }


def kinetic(momentum: Any) -> jax.Array:
    """``|p|^2 / 2``."""
    return sum((jnp.sum(leaf**2) for leaf in jax.tree.leaves(momentum)), jnp.float32(0)) / 2


def measured(posterior: Posterior, variables: Any) -> dict[str, jax.Array]:
    """The statistics of variables, by one pass over all data."""
    return energies(posterior, variables["params"], posterior.measured_terms(variables))
