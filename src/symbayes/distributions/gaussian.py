"""A Gaussian over weights: diagonal, or diagonal plus low rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Bool, Float64

from symbayes import trees
from symbayes.brief import briefly
from symbayes.distributions import fitting
from symbayes.distributions.distribution import (
    Distribution,
    Variables,
    dotted,
    named_arrays,
    named_parts,
)
from symbayes.distributions.layout import Layout, weights_of
from symbayes.draws import Draws
from symbayes.pytrees import pytree
from symbayes.specs import require


@briefly
@pytree
@dataclass(frozen=True, eq=False)
class Gaussian(Distribution, kind="gaussian"):
    """N(m, diag(d) + U U') over the weights, in the form of SWAG (Maddox et al. 2019).

    A draw is ``m + sqrt(d) z + U z'`` with independent standard normal z and z'.

    Attributes:
        location: the mean m of all variables; statistics of normalisers are constants.
        diagonal: d, a tree of the weights: the variables without ``stats``.
        factors: U, the same tree with a leading axis over the rank, which may be zero.
    """

    location: Variables
    diagonal: Variables
    factors: Variables

    def __post_init__(self) -> None:
        _require_matching(self.location, self.diagonal, self.factors)

    @classmethod
    def fit(
        cls, draws: Draws, rank: int = 0, shrinkage: fitting.Shrinkage = None, max_bytes: int = 2**26
    ) -> Gaussian:
        """The Gaussian with the mean and the variances of the draws, and their `rank` leading axes.

        The draws are read once, or twice where the rank is not zero, `max_bytes` at a time.  The axes are
        exact up to 2,048 draws, through the Gram matrix of the draws, and beyond that come from a random
        sketch (Halko et al. 2011).  `shrinkage` in [0, 1] is the share that is taken off every covariance,
        variances staying as they are: none, a number, or "auto" for the estimate of Schäfer and Strimmer
        (2005).  `largest_rank` gives the largest rank that some draws allow.
        """
        return cls(*fitting.fit(draws, rank, shrinkage, max_bytes))

    @property
    def mean(self) -> Variables:
        return self.location

    @property
    def rank(self) -> int:
        return jax.tree.leaves(self.factors)[0].shape[0]

    @property
    def floats(self) -> int:
        """How many numbers are stored: rank + 2 per weight, one per constant."""
        return trees.size(self)

    @property
    def variance(self) -> Variables:
        """The variance of every weight, as variables; constants have none."""
        zeros = jax.tree.map(np.zeros_like, self.location)
        return {**zeros, **jax.tree.map(_variance, self.diagonal, self.factors)}

    @property
    def scale(self) -> Variables:
        """The standard deviation of every weight, as variables."""
        return jax.tree.map(np.sqrt, self.variance)

    def with_noise(self, factor: float) -> Gaussian:
        """The same Gaussian with all deviations from the mean multiplied by `factor`."""
        require(0 <= factor < np.inf, f"noise is a finite factor of at least zero, not {factor}")
        return Gaussian(
            self.location,
            jax.tree.map(lambda leaf: np.asarray(factor**2, leaf.dtype) * leaf, self.diagonal),
            jax.tree.map(lambda leaf: np.asarray(factor, leaf.dtype) * leaf, self.factors),
        )

    def sample(self, key: jax.Array) -> Variables:
        like = self.diagonal, jax.ShapeDtypeStruct((self.rank,), jnp.float32)
        own, shared = trees.cut_stream(lambda count: jax.random.normal(key, (count,)), like)

        def moved(m: jax.Array, d: ArrayLike, u: ArrayLike, z: jax.Array) -> jax.Array:
            # The default precision of products is too coarse on some accelerators.
            return m + jnp.sqrt(d) * z + jnp.tensordot(shared, u, 1, precision="highest")

        location = jax.tree.map(jnp.asarray, self.location)
        return {**location, **jax.tree.map(moved, weights_of(location), self.diagonal, self.factors, own)}

    def variances(self, slopes: Variables) -> jax.Array:
        squares = jax.tree.map(jnp.square, slopes)
        shared = jax.vmap(lambda factor: dotted(slopes, factor))(jax.tree.map(jnp.asarray, self.factors))
        return dotted(squares, self.diagonal) + jnp.sum(jnp.square(shared), axis=0)

    def log_density(self, variables: Variables) -> Float64[np.ndarray, "*lead"]:
        """The log density, by identities that need no matrix of all weights.

        With W = d^-1/2 U, A = I + W'W, r = d^-1/2 (w - m) and y = A^-1 W'r, the determinant is
        det(diag(d)) det(A) (matrix determinant lemma), and the squared distance |r - Wy|^2 + |y|^2
        (Woodbury's identity, written without a difference of large numbers).
        """
        vary = self._varying
        deviation = self._layout.weight_vector(variables) - self._layout.weight_vector(self.location)
        variance = self._own[vary]
        r = deviation[..., vary] / np.sqrt(variance)
        log_determinant = np.sum(np.log(variance))
        distance = np.sum(r**2, axis=-1)
        if self.rank:
            from scipy.linalg import cho_solve  # slow to import

            half = self._whitened
            projected = (r @ half).reshape(-1, self.rank).T
            y = cho_solve((self._cholesky, True), projected).T.reshape(*r.shape[:-1], self.rank)
            distance = np.sum((r - y @ half.T) ** 2, axis=-1) + np.sum(y**2, axis=-1)
            log_determinant += 2 * np.sum(np.log(np.diag(self._cholesky)))
        density = -0.5 * (distance + log_determinant + vary.sum() * np.log(2 * np.pi))
        return np.where(np.any(deviation[..., ~vary] != 0, axis=-1), -np.inf, density)

    def arrays(self) -> dict[str, np.ndarray]:
        return named_arrays(location=self.location, diagonal=self.diagonal, factors=self.factors)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Gaussian:
        location, diagonal, factors = named_parts(arrays, "location", "diagonal", "factors")
        return cls(trees.variables(location), trees.unflatten(diagonal), trees.unflatten(factors))

    @cached_property
    def _layout(self) -> Layout:
        return Layout(trees.shapes(self.location))

    @cached_property
    def _own(self) -> Float64[np.ndarray, " weight"]:
        return self._layout.weight_vector(self.diagonal)

    @cached_property
    def _varying(self) -> Bool[np.ndarray, " weight"]:
        """The weights with a variance, all of which need a noise of their own for a density."""
        vary = self._layout.weight_vector(self.variance) > 0
        bare = int(np.sum(self._own[vary] == 0))
        require(
            bare == 0,
            f"there is no density: rank {self.rank} leaves {bare:,} weights without noise of their own; "
            "fit a smaller rank, or with shrinkage",
        )
        return vary

    @cached_property
    def _whitened(self) -> Float64[np.ndarray, "varying rank"]:
        """W = d^-1/2 U of the weights that vary."""
        factors = self._layout.weight_vector(self.factors)[:, self._varying]
        return factors.T / np.sqrt(self._own[self._varying])[:, None]

    @cached_property
    def _cholesky(self) -> Float64[np.ndarray, "rank rank"]:
        """The lower Cholesky factor of A = I + W'W."""
        return np.linalg.cholesky(np.eye(self.rank) + self._whitened.T @ self._whitened)


def _variance(diagonal: ArrayLike, factors: ArrayLike) -> np.ndarray:
    own, shared = np.asarray(diagonal), np.asarray(factors)
    return np.asarray(own + np.sum(np.square(shared, dtype=np.float64), axis=0), own.dtype)


def _require_matching(location: Variables, diagonal: Variables, factors: Variables) -> None:
    """Refuse trees of different weights.

    All leaves may have leading axes in front of the axis over the rank: one Gaussian for each chain.
    """
    shapes = {name: np.shape(leaf) for name, leaf in trees.flatten(weights_of(location)).items()}
    flat = {"diagonal": trees.flatten(diagonal), "factors": trees.flatten(factors)}
    for part, leaves in flat.items():
        if wrong := sorted(leaves.keys() ^ shapes.keys(), key=trees.path_key):
            state = "missing from" if wrong[0] in shapes else "no weight of the location, but in"
            raise ValueError(f"{wrong[0]!r} is {state} the {part} of a Gaussian")
    require(bool(shapes), "a Gaussian needs a weight: there is none outside 'stats'")
    ranks = None
    for name, shape in shapes.items():
        own, shared = (np.shape(leaves[name]) for leaves in flat.values())
        require(own == shape, f"the diagonal of {name!r} has shape {own}, but {shape} is needed")
        here = {(i, n) for i, n in enumerate(shared) if shared[:i] + shared[i + 1 :] == shape}
        ranks = here if ranks is None else ranks & here
        require(
            bool(ranks),
            f"the factors of {name!r} have shape {shared}: they need that of the weight, {shape}, and one "
            "axis over the rank, which all weights share",
        )
