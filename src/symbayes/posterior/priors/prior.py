"""What a prior is, and what priors with one law for all parameters have in common.

A prior sees ``params`` only.  `log_ratio` gives element-wise differences of the log density,
because an exact accept step needs differences, not totals.
"""

from __future__ import annotations

import abc
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from symbayes import trees
from symbayes.trees import Scalar, Tree


@runtime_checkable
class Prior(Protocol):
    """A law of the parameters."""

    def fitted(self, params: Tree, x: ArrayLike) -> Prior:
        """This prior for parameters of these shapes and for training inputs `x`.

        Refuses parameters that it does not suit.  A posterior does this when it is made.
        """
        ...

    def log_density(self, params: Tree) -> jax.Array:
        """The log density, normalised."""
        ...

    def log_ratio(self, new: Tree, old: Tree) -> Tree:
        """Terms shaped like the parameters whose sum is ``log p(new) - log p(old)``, each without
        cancellation."""
        ...

    def sample(self, key: jax.Array, params: Tree) -> Tree:
        """A draw shaped like `params`."""
        ...

    @property
    def standard_deviation(self) -> Scalar | None:
        """The one standard deviation that all parameters have; None where there is none."""
        ...

    def deviations(self, params: Tree) -> Tree:
        """The standard deviations of the parameters, each leaf broadcasting to the parameters'; None
        where some parameter has no variance."""
        ...


class Independent(abc.ABC):
    """The same law for every parameter, independent of the others."""

    @abc.abstractmethod
    def log_kernel(self, w: jax.Array) -> jax.Array:
        """Element-wise, the log density without its constant."""

    @property
    @abc.abstractmethod
    def log_norm(self) -> Scalar:
        """The constant: ``log p(w) = log_kernel(w) - log_norm``."""

    @abc.abstractmethod
    def difference(self, new: jax.Array, old: jax.Array) -> jax.Array:
        """Element-wise ``log p(new) - log p(old)``, without cancellation."""

    @abc.abstractmethod
    def draw(self, key: jax.Array, count: int) -> jax.Array:
        """Independent draws, shape (count,)."""

    @property
    @abc.abstractmethod
    def standard_deviation(self) -> Scalar | None:
        """The standard deviation; None where there is none."""

    def fitted(self, params: Tree, x: ArrayLike) -> Prior:
        return self

    def log_density(self, params: Tree) -> jax.Array:
        sums = jax.tree.map(lambda leaf: jnp.sum(self.log_kernel(jnp.asarray(leaf))), params)
        return jax.tree.reduce(jnp.add, sums, jnp.zeros(())) - trees.size(params) * self.log_norm

    def log_ratio(self, new: Tree, old: Tree) -> Tree:
        return jax.tree.map(lambda a, b: self.difference(jnp.asarray(a), jnp.asarray(b)), new, old)

    def sample(self, key: jax.Array, params: Tree) -> Tree:
        return trees.cut_stream(lambda count: self.draw(key, count), params)

    def deviations(self, params: Tree) -> Tree:
        deviation = self.standard_deviation
        return None if deviation is None else jax.tree.map(lambda _: jnp.asarray(deviation), params)
