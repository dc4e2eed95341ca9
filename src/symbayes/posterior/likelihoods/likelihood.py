"""The protocol of likelihoods: the log probability of targets under a network's outputs.

A likelihood is a frozen dataclass and a pytree: its kind is static, its scales are leaves, so
another scale never compiles again.

Outputs are (n, k), or (n, ..., k) where there are positions between example and class or target: the pixels
of an image, the places of a text.  Given the outputs, positions are independent.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from symbayes.posterior.likelihoods.predictive import Predictive, Running
from symbayes.specs import require


@runtime_checkable
class Likelihood(Protocol):
    """The law of one target given the network's outputs for its input."""

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        """Per example: outputs (n, ..., k) and targets with n rows give (n,), summed over positions."""
        ...

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        """Refuse targets that do not fit outputs of this shape."""
        ...

    def predict(self, outputs: jax.Array) -> jax.Array:
        """What a predictive keeps per draw: probabilities, means, or means and scales."""
        ...

    def predictive(self, values: np.ndarray) -> Predictive:
        """The predictive of what `predict` gave for many draws, (chain, draw, example, ..., k)."""
        ...

    def running(self, shape: tuple[int, ...]) -> Running:
        """The predictive's running form, before any draw, for what `predict` gives of this shape."""
        ...

    def curvature_root(self, outputs: jax.Array) -> jax.Array:
        """S, of shape (n, ..., k, r), with ``S S'`` the second derivative of ``-log p(y | outputs)`` in the
        outputs of every position, or what is expected of it over targets where it depends on them."""
        ...

    def marginal(self, mean: jax.Array, variance: jax.Array) -> jax.Array:
        """The outputs under which `marginals` gives targets their law where the outputs are normal with these
        means and variances, each (n, ..., k)."""
        ...

    @property
    def marginals(self) -> Likelihood:
        """The likelihood of targets under what `marginal` gives."""
        ...


def over_positions(each: jax.Array) -> jax.Array:
    """Log probabilities (n, ...) summed over positions: (n,)."""
    return each if each.ndim == 1 else jnp.sum(each, axis=tuple(range(1, each.ndim)))


def require_finite(y: np.ndarray) -> None:
    """Refuse targets that hold anything else."""
    bad = ~np.isfinite(y).reshape(len(y), -1).all(axis=1)
    require(
        not bad.any(),
        f"targets hold NaN or infinity in {bad.sum()} of {len(y)} examples, "
        f"first in number {int(bad.argmax())}: remove or repair them",
    )


def shape_words(*sizes: int | str) -> str:
    """A shape as a person writes it: (n, 8, 4)."""
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
