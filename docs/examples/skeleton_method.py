"""Unadjusted Langevin dynamics over all data: the smallest complete method.

With step size e and standard normal noise z, every step is

    w <- w + e/2 grad log p(w) + sqrt(e) z

There is no accept step, so at a finite step size the draws follow a law near the posterior, not the
posterior itself.  For a Gaussian with precision A the mean is right and the covariance is
(A - e A^2 / 4)^-1.

Reference: Roberts & Tweedie (1996), Exponential convergence of Langevin distributions and their discrete
approximations.
"""

from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine import Method, Phase, Position, method, phase
from symbayes.specs import Count, Natural, Positive


# --8<-- [start:phase]
@phase
class Diffuse(Phase):
    """Langevin steps; a unit is `thin` of them."""

    open_ended = True

    units: int
    step_size: Any
    thin: Any
    keeps: bool

    def steps(self, posterior, shared):
        return self.thin

    def step(self, posterior, shared, flight, tick):
        params = flight.variables["params"]
        gradient, noise = posterior.gradient(flight.variables), trees.random_normal(tick.key, params)
        e = self.step_size
        params = jax.tree.map(lambda w, g, z: w + e / 2 * g + jnp.sqrt(e) * z, params, gradient, noise)
        return Position({**flight.variables, "params": params})

    def close(self, posterior, shared, chain, flight, tick):
        return flight, {"energy": -posterior.log_density(flight.variables)}, None

    def kept(self, unit):
        return self.keeps


# --8<-- [end:phase]


# --8<-- [start:method]
@method
class Langevin(Method):
    """Unadjusted full-batch Langevin dynamics (Roberts & Tweedie 1996): biased at a finite step.

    Attributes:
        step_size: of the discretised diffusion.
        thin: steps from one draw to the next.
        burn_in: draws that are made and not kept.
        draws: draws that are kept after that.
        chains: independent chains.
    """

    name = "langevin"
    remedy = "use a smaller step_size"
    extends = "draws"

    step_size: Positive
    thin: Count = 10
    burn_in: Natural = 50
    draws: Count = 200
    chains: Count = 4

    def phases(self, posterior):
        return (
            Diffuse(self.burn_in, self.step_size, self.thin, keeps=False),
            Diffuse(self.draws, self.step_size, self.thin, keeps=True),
        )


# --8<-- [end:method]
