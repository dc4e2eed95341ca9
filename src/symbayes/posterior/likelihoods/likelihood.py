"""The protocol of likelihoods: the log probability of targets under a network's outputs.

A likelihood is a frozen dataclass and a pytree: its kind is static, its scales are leaves, so
another scale never compiles again.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import jax
import numpy as np


@runtime_checkable
class Likelihood(Protocol):
    """The law of one target given the network's outputs for its input."""

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        """Per example: outputs (n, k) and targets with n rows give (n,)."""
        ...

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        """Refuse targets that do not fit outputs of this shape."""
        ...

    def predict(self, outputs: jax.Array) -> jax.Array:
        """What a predictive keeps per draw: probabilities, means, or means and scales."""
        ...
