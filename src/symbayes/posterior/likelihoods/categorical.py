"""Classes: labels under logits, and the probabilities of every draw."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import evaluate
from symbayes.pytrees import pytree
from symbayes.specs import require


@pytree
@dataclass(frozen=True)
class Categorical:
    """Labels 0..k-1 with logits as outputs: ``log p(y) = z_y - logsumexp(z)``."""

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        # A comparison, not a gather: its gradient is element-wise and not a scatter.
        chosen = jnp.arange(outputs.shape[-1]) == y[:, None]
        return jnp.sum(jnp.where(chosen, jax.nn.log_softmax(outputs), 0.0), axis=-1)

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        require(
            y.ndim == 1 and np.issubdtype(y.dtype, np.integer),
            f"labels are one integer per example, not {y.dtype} of shape {y.shape}",
        )
        classes = outputs[-1]
        require(
            y.size == 0 or (y.min() >= 0 and y.max() < classes),
            f"labels run from {y.min(initial=0)} to {y.max(initial=0)}, "
            f"but the network has outputs for 0 to {classes - 1}",
        )

    def predict(self, outputs: jax.Array) -> jax.Array:
        return jax.nn.softmax(outputs)


@dataclass(frozen=True, eq=False)
class CategoricalPredictive:
    """Probabilities of every draw, shape (chain, draw, example, class)."""

    probs: np.ndarray

    @functools.cached_property
    def mean(self) -> np.ndarray:
        """The predictive distribution, averaged over draws: (example, class)."""
        return self.probs.mean(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def entropy(self) -> np.ndarray:
        """Entropy of the averaged distribution, in nats: (example,)."""
        return evaluate.entropy(self.mean)

    @functools.cached_property
    def mutual_information(self) -> np.ndarray:
        """Entropy of the mean minus mean of the entropies, in nats: (example,)."""
        return evaluate.mutual_information(self.probs.reshape(-1, *self.probs.shape[2:]))
