"""A Gaussian over the weights of one layer, with its whole covariance; all other weights are fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from symbayes import trees
from symbayes.brief import briefly
from symbayes.distributions.distribution import (
    Distribution,
    Variables,
    dotted,
    named_arrays,
    named_parts,
)
from symbayes.distributions.layout import Layout
from symbayes.pytrees import pytree


@briefly
@pytree
@dataclass(frozen=True, eq=False)
class LastLayer(Distribution, kind="last-layer"):
    """N(m, F'F) over the weights of a layer; a draw is ``m + F'z`` with standard normal z.

    Attributes:
        location: the mean m of all variables; those outside of the layer are constants.
        factors: F, a tree of the layer's parameters with a leading axis over as many rows as it has weights.
    """

    location: Variables
    factors: Variables

    @property
    def mean(self) -> Variables:
        return self.location

    @property
    def varying(self) -> Variables:
        flat = trees.flatten(self.location)
        return trees.unflatten({name: flat[name] for name in trees.names(self.factors)})

    def sample(self, key: jax.Array) -> Variables:
        z = jax.random.normal(key, jax.tree.leaves(self.factors)[0].shape[:1])
        # The default precision of products is too coarse on some accelerators.
        moved = {
            name: leaf + jnp.tensordot(z, factor, 1, precision="highest")
            for (name, leaf), factor in zip(
                trees.flatten(self.varying).items(), trees.flatten(self.factors).values(), strict=True
            )
        }
        location = jax.tree.map(jnp.asarray, self.location)
        return trees.like(location, trees.flatten(location) | moved)

    def variances(self, slopes: Variables) -> jax.Array:
        along = jax.vmap(lambda row: dotted(slopes, row))(jax.tree.map(jnp.asarray, self.factors))
        return jnp.sum(jnp.square(along), axis=0)

    def log_density(self, variables: Variables) -> Float64[np.ndarray, "*lead"]:
        layout = Layout(trees.shapes(self.location))
        away = layout.weight_vector(variables) - layout.weight_vector(self.location)
        moving = np.zeros(layout.weight_count, bool)
        for name in trees.names(self.factors):
            moving[layout.weights[name]] = True
        z = np.linalg.solve(self._matrix.T, away[..., moving].reshape(-1, moving.sum()).T)
        distance = np.square(z).sum(axis=0).reshape(away.shape[:-1])
        log_determinant = 2 * np.linalg.slogdet(self._matrix)[1]
        density = -0.5 * (distance + log_determinant + moving.sum() * np.log(2 * np.pi))
        return np.where(np.any(away[..., ~moving] != 0, axis=-1), -np.inf, density)

    def arrays(self) -> dict[str, np.ndarray]:
        return named_arrays(location=self.location, factors=self.factors)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> LastLayer:
        location, factors = named_parts(arrays, "location", "factors")
        return cls(trees.variables(location), trees.unflatten(factors))

    @cached_property
    def _matrix(self) -> Float64[np.ndarray, "row weight"]:
        """F, its columns in the order of the layout: names in natural order."""
        leaves = [np.asarray(leaf, np.float64) for leaf in trees.flatten(self.factors).values()]
        return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)
