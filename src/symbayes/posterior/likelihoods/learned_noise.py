"""Real targets with one noise scale for each target, learnt with the weights."""

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
class LearnedNoise(MeansAndScales):
    """Real targets around the network's outputs, ``N(m, (centre exp(r))^2)``, with r learnt for each target.

    The network is one of `networks.with_noise`: its outputs (n, 2k) are the k means m and then the k log
    scales r, which are the same for all examples; with positions (n, ..., 2k).  A normal prior on r is a
    log-normal prior on the noise around `centre`.
    """

    each: ClassVar[str] = "a noise scale"
    remedy: ClassVar[str] = "networks.with_noise(network)"

    centre: Scalar = 0.1

    def __post_init__(self) -> None:
        require_positive(centre=self.centre)

    def moments(self, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Means and scales, each (..., k)."""
        means, raw = jnp.split(outputs, 2, axis=-1)
        return means, self.centre * jnp.exp(raw)
