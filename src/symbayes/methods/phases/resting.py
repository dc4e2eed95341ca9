"""Common parts of samplers with an exact accept step: the place of a chain, and the accept step.

With ``U(w)`` minus the log density and momentum ``p ~ N(0, I)``, a proposal that is a volume-preserving and
reversible map of ``(w, p)`` is accepted with probability ``min(1, exp(U(w0) + |p0|^2/2 - U(w) - |p|^2/2))``.
The difference of the energies is summed from element-wise differences: totals of a large network do not fit
float32.

Where the prior has one standard deviation, every parameter takes the same step ``e``.  Where its parameters
have different ones, ``s``, the dynamics is that of the whitened parameters ``w / s``: ``w`` takes the step
``e s``, and so does ``p``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.sums import compensated
from symbayes.pytrees import pytree

DIVERGENT = 1000.0
"""The energy error above which a trajectory counts as divergent: its step size is too large."""

UNIFORM = 1
"""Stream of the accept step, different from that of the momentum."""


@pytree
@dataclass(frozen=True)
class Resting:
    """The place of a chain, with the gradient of the log density and the likelihood's terms there."""

    variables: Any
    gradient: Any
    likelihood: Any


def rest(posterior: Posterior, variables: Any) -> Resting:
    """A chain at these variables."""
    gradient, terms = posterior.gradient_and_terms(variables)
    return exact(posterior, Resting(variables, gradient, terms))


def exact(posterior: Posterior, there: Resting) -> Resting:
    """The same with the likelihood in float32, as an accept step needs it."""
    if posterior.precision == "float32":
        return there
    return Resting(there.variables, there.gradient, posterior.measured_terms(there.variables))


def per_parameter(posterior: Posterior, step_size: jax.Array, params: Any, scales: Any = None) -> Any:
    """The step of every parameter, each leaf broadcasting to that of `params`; `scales` are the prior's if
    none are given."""
    if scales is None and posterior.prior.standard_deviation is None:
        scales = posterior.prior.deviations(params)
    if scales is None:
        return jax.tree.map(lambda _: step_size, params)
    return jax.tree.map(lambda scale: step_size * scale, scales)


def fresh_momentum(key: jax.Array, params: Any) -> Any:
    """The momentum with which a trajectory begins.

    The barrier makes its numbers the same in every program: fused with later operations, its last product
    would be rounded differently.
    """
    return jax.lax.optimization_barrier(trees.random_normal(key, params))


def log_acceptance(
    posterior: Posterior, old: Resting, new: Resting, first: Any, last: Any, settle: bool = False
) -> jax.Array:
    """Log of the probability, not cut off at one, with which `new` is accepted; `first` and `last` are the
    momenta.  Values that are not finite are rejected.  `settle` completes the terms before they are summed.
    """
    potential = posterior.difference_terms(
        new.variables["params"], old.variables["params"], new.likelihood, old.likelihood
    )
    kinetic = jax.tree.map(lambda a, b: (a - b) * (a + b) / 2, first, last)
    terms = [*potential, *jax.tree.leaves(kinetic)]
    ratio = compensated(*(jax.lax.optimization_barrier(terms) if settle else terms))
    return jnp.where(jnp.isnan(ratio), -jnp.inf, ratio)


def decide(key: jax.Array, log_accept: jax.Array) -> jax.Array:
    """Whether a proposal is accepted."""
    return jnp.log(jax.random.uniform(jax.random.fold_in(key, UNIFORM))) < log_accept


def either(accepted: jax.Array, new: Any, old: Any) -> Any:
    """The new one where it was accepted, else the old one."""
    return jax.tree.map(lambda a, b: jnp.where(accepted, b, a), old, new)


def leap(posterior: Posterior, here: Resting, step: Any, momentum: Any) -> tuple[Resting, Any]:
    """The end of one leapfrog step, and the momentum there."""
    half = jax.tree.map(lambda p, e, g: p + e / 2 * g, momentum, step, here.gradient)
    params = jax.tree.map(lambda w, e, p: w + e * p, here.variables["params"], step, half)
    # Settled, so that rounding is the same in every program that uses it.
    half, params = jax.lax.optimization_barrier((half, params))
    there = rest(posterior, {**here.variables, "params": params})
    return there, jax.tree.map(lambda p, e, g: p + e / 2 * g, half, step, there.gradient)
