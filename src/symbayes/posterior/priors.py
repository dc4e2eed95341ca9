"""Priors over parameters.

A prior sees ``params`` only.  `log_ratio` gives element-wise differences of the log density,
because an exact accept step needs differences, not totals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.specs import require_positive


@runtime_checkable
class Prior(Protocol):
    """An independent law for every parameter."""

    def log_density(self, params: Any) -> jax.Array:
        """The log density, normalised."""
        ...

    def log_ratio(self, new: Any, old: Any) -> Any:
        """Element-wise ``log p(new) - log p(old)``, without cancellation."""
        ...

    def sample(self, key: jax.Array, params: Any) -> Any:
        """A draw shaped like `params`."""
        ...

    @property
    def standard_deviation(self) -> Any:
        """The common standard deviation; None where there is none."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Normal:
    """``N(0, scale^2)`` on every weight and bias."""

    scale: Any = 1.0

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def log_density(self, params: Any) -> jax.Array:
        log_norm = jnp.log(self.scale) + 0.5 * math.log(2 * math.pi)
        return -0.5 * trees.dot(params, params) / self.scale**2 - trees.size(params) * log_norm

    def log_ratio(self, new: Any, old: Any) -> Any:
        return jax.tree.map(lambda a, b: (b - a) * (b + a) / (2 * self.scale**2), new, old)

    def sample(self, key: jax.Array, params: Any) -> Any:
        return jax.tree.map(lambda z: self.scale * z, trees.random_normal(key, params))

    @property
    def standard_deviation(self) -> Any:
        return self.scale


KINDS: dict[str, type] = {kind.__name__: kind for kind in (Normal,)}
