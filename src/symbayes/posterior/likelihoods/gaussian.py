"""Real targets with one known noise scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from symbayes.posterior.likelihoods.normal import log_normal, require_finite
from symbayes.pytrees import pytree
from symbayes.specs import require, require_positive


@pytree
@dataclass(frozen=True)
class Gaussian:
    """Real targets with the network's outputs as means and one known noise scale."""

    scale: Any = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return log_normal(y, outputs, self.scale)

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        require(
            y.ndim == 2 and np.issubdtype(y.dtype, np.floating) and y.shape[1] == outputs[-1],
            f"targets have shape (n, {outputs[-1]}) and are real, not {y.dtype} of shape {y.shape}",
        )
        require_finite(y)

    def predict(self, outputs: jax.Array) -> jax.Array:
        return outputs
