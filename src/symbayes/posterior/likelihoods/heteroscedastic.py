"""Real targets whose noise the network tells too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from symbayes.brief import briefly
from symbayes.posterior.likelihoods.scaled import MeansAndScales
from symbayes.pytrees import pytree
from symbayes.specs import require_positive
from symbayes.trees import Scalar


@briefly
@pytree
@dataclass(frozen=True)
class HeteroscedasticGaussian(MeansAndScales):
    """Real targets whose mean and noise scale both are the network's: ``N(m, (floor + softplus(r))^2)``.

    The outputs (n, 2k) are the k means m and then the k raw scales r of targets (n, k); with positions they
    are (n, ..., 2k) for targets (n, ..., k).  Without a floor the density has no bound: one point that is met
    exactly can have any.

    Reference: Nix & Weigend (1994), Estimating the mean and variance of the target probability
    distribution.
    """

    each: ClassVar[str] = "a mean and a scale"
    remedy: ClassVar[str] = "outputs={outputs}"

    floor: Scalar = 1e-3

    def __post_init__(self) -> None:
        require_positive(floor=self.floor)

    def moments(self, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Means and scales, each (..., k)."""
        means, raw = jnp.split(outputs, 2, axis=-1)
        return means, self.floor + jax.nn.softplus(raw)
