"""A Gaussian over weights: diagonal, or diagonal plus low rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float, Float64

from symbayes.compact import storage
from symbayes.compact.layout import Layout
from symbayes.compact.moments import EXACT_DRAWS, Gram, Sketch, leading_factors, moments
from symbayes.draws import Draws
from symbayes.specs import require

Shrinkage = float | Literal["auto"] | None


@dataclass(frozen=True, eq=False)
class Gaussian:
    """N(mean, diag(d) + U U') over the weights, in the form of SWAG (Maddox et al. 2019).

    `fit` takes for U U' the best approximation of rank k to the empirical covariance S (Eckart and
    Young 1936) and puts what is left of the variances into d, so that the variance of every single
    weight is the unbiased one whatever the rank.  Statistics of normalisers are constants.
    Vectors are laid out by `layout`: weights first, then the constants.
    """

    layout: Layout
    location: Float[np.ndarray, " variable"]
    diagonal: Float[np.ndarray, " weight"]
    factors: Float[np.ndarray, "weight rank"]

    @classmethod
    def fit(
        cls, draws: Draws, rank: int = 0, shrinkage: Shrinkage = None, max_bytes: int = 2**26
    ) -> Gaussian:
        """From one pass over the draws, or two where the rank is not zero, `max_bytes` at a time.

        The leading axes are exact up to 2,048 draws, through the Gram matrix of the draws, and beyond
        that come from a random sketch (Halko et al. 2011).  `shrinkage` in [0, 1] is the share that is
        taken off every covariance, variances staying as they are: none, a number, or "auto" for the
        estimate of Schäfer and Strimmer (2005).
        """
        count = draws.chains * len(draws)
        layout = Layout(draws.shapes)
        _check_fit(layout, count, rank, shrinkage)
        if rank == 0:
            found = moments(draws, layout, max_bytes)
            factors = np.zeros((layout.weight_count, 0), found.dtype)
        else:
            width = Sketch.width_for(rank)
            products = Gram(count) if count <= max(EXACT_DRAWS, 2 * width) else Sketch(count, width)
            found = moments(draws, layout, max_bytes, products)
            factors = leading_factors(draws, layout, found, products, rank, max_bytes)
            factors *= np.sqrt(1 - _share(shrinkage, products, found.variance)).astype(found.dtype)
        diagonal = _rest(found.variance, factors)
        return cls(layout, found.mean.astype(found.dtype), diagonal.astype(found.dtype), factors)

    @property
    def rank(self) -> int:
        return self.factors.shape[1]

    @property
    def floats(self) -> int:
        """How many numbers are stored: rank + 2 per weight, one per constant."""
        return self.location.size + self.diagonal.size + self.factors.size

    @property
    def mean(self) -> dict[str, Any]:
        """The mean network, as variables."""
        return self.layout.tree(self.location)

    @property
    def variance(self) -> dict[str, Any]:
        """The variance of every weight, as variables; constants have none."""
        return self._tree(self._variances, np.zeros_like(self._constants))

    @property
    def scale(self) -> dict[str, Any]:
        """The standard deviation of every weight, as variables."""
        return self._tree(np.sqrt(self._variances), np.zeros_like(self._constants))

    def sample(self, key: jax.Array, n: int, noise: float = 1.0) -> Draws:
        """`n` draws in one chain, with deviations from the mean multiplied by `noise`.

        Draw i depends on the key and on i alone, not on `n`.
        """
        require(n >= 1, f"at least one draw is sampled, not {n}")
        require(0 <= noise < np.inf, f"noise is a finite factor of at least zero, not {noise}")
        normal = np.asarray(_normals(key, n, self.diagonal.size + self.rank)).astype(self.location.dtype)
        own, shared = np.split(normal, [self.diagonal.size], axis=1)
        deviation = own * np.sqrt(self.diagonal) + shared @ self.factors.T
        weights = self._weights + self.location.dtype.type(noise) * deviation
        return Draws.from_variables(self._tree(weights[None], self._constants))

    def log_density(self, variables: Any) -> Float64[np.ndarray, "*lead"]:
        """The log density (nats) of each of the variables, which may have leading axes; in float64.

        With W = d^-1/2 U, A = I + W'W, r = d^-1/2 (w - mean) and z = A^-1 W'r, the determinant is
        det(diag(d)) det(A) (matrix determinant lemma), and the squared distance |r - Wz|^2 + |z|^2
        (Woodbury's identity, written without a difference of large numbers).  Weights that were the
        same in all draws take no part in it: where they differ, the density is zero.
        """
        vary = self._varying
        deviation = self.layout.weight_vector(variables) - self._weights
        variance = self.diagonal[vary].astype(np.float64)
        r = deviation[..., vary] / np.sqrt(variance)
        log_determinant = np.sum(np.log(variance))
        distance = np.sum(r**2, axis=-1)
        if self.rank:
            half = self._whitened_factors()
            projected = (r @ half).reshape(-1, self.rank).T
            z = scipy.linalg.cho_solve((self._cholesky, True), projected).T.reshape(*r.shape[:-1], self.rank)
            distance = np.sum((r - z @ half.T) ** 2, axis=-1) + np.sum(z**2, axis=-1)
            log_determinant += 2 * np.sum(np.log(np.diag(self._cholesky)))
        density = -0.5 * (distance + log_determinant + vary.sum() * np.log(2 * np.pi))
        return np.where(np.any(deviation[..., ~vary] != 0, axis=-1), -np.inf, density)

    def prune(self, keep: float = 0.1, by: Literal["sigma", "signal"] = "sigma") -> dict[str, Any]:
        """The mean network with all but the share `keep` of its weights set to zero.

        Kept are the weights with the lowest sigma, or with the highest signal |mean| / sigma
        (Graves 2011; Blundell et al. 2015).
        """
        require(0 < keep <= 1, f"the share to keep is above 0 and at most 1, not {keep}")
        require(by in ("sigma", "signal"), f"weights are pruned by 'sigma' or by 'signal', not by {by!r}")
        sigma, size = np.sqrt(self._variances), np.abs(self._weights)
        if by == "signal":
            certain = np.where(size > 0, np.inf, 0.0)
            order = np.argsort(-np.divide(size, sigma, out=certain, where=sigma > 0), kind="stable")
        else:
            order = np.argsort(sigma, kind="stable")
        kept = np.zeros_like(self._weights)
        chosen = order[: round(keep * order.size)]
        kept[chosen] = self._weights[chosen]
        return self._tree(kept, self._constants)

    def save(self, path: str | Path) -> None:
        """One safetensors file; an existing one is not overwritten."""
        storage.write(Path(path), self.layout, self.location, self.diagonal, self.factors)

    @classmethod
    def load(cls, path: str | Path) -> Gaussian:
        """What `save` wrote."""
        return cls(*storage.read(Path(path)))

    @property
    def _weights(self) -> Float[np.ndarray, " weight"]:
        return self.location[: self.diagonal.size]

    @property
    def _constants(self) -> Float[np.ndarray, " constant"]:
        return self.location[self.diagonal.size :]

    def _tree(self, weights: Float[np.ndarray, "*lead weight"], constants: np.ndarray) -> dict[str, Any]:
        constants = np.broadcast_to(constants, (*weights.shape[:-1], constants.size))
        return self.layout.tree(np.concatenate([weights, constants], axis=-1))

    @cached_property
    def _cholesky(self) -> Float64[np.ndarray, "rank rank"]:
        """The lower Cholesky factor of A = I + W'W."""
        half = self._whitened_factors()
        return np.linalg.cholesky(np.eye(self.rank) + half.T @ half)

    def _whitened_factors(self) -> Float64[np.ndarray, "varying rank"]:
        vary = self._varying
        return self.factors[vary] / np.sqrt(self.diagonal[vary].astype(np.float64))[:, None]

    @cached_property
    def _varying(self) -> Bool[np.ndarray, " weight"]:
        """The weights with a variance, all of which need a noise of their own for a density."""
        vary = self._variances > 0
        bare = int(np.sum(self.diagonal[vary] == 0))
        require(
            bare == 0,
            f"there is no density: rank {self.rank} leaves {bare:,} weights without noise of their own; "
            "fit a smaller rank, or with shrinkage",
        )
        return vary

    @cached_property
    def _variances(self) -> Float[np.ndarray, " weight"]:
        return self.diagonal + _row_squares(self.factors).astype(self.diagonal.dtype)


def _check_fit(layout: Layout, count: int, rank: int, shrinkage: Shrinkage) -> None:
    require(bool(layout.weights), "there is nothing to fit: the draws hold no parameter")
    require(count > 1, f"a Gaussian needs at least two draws to have a variance, not {count}")
    most = min(count - 1, layout.weight_count)
    require(
        0 <= rank <= most,
        f"the rank is from 0 to {most} for {count} draws of {layout.weight_count} weights, not {rank}",
    )
    if shrinkage == "auto":
        require(
            rank == 0 or count <= EXACT_DRAWS,
            f"shrinkage is estimated from at most {EXACT_DRAWS} draws, "
            f"not {count}: give it as a number, or thin the draws",
        )
    elif shrinkage is not None:
        require(
            not isinstance(shrinkage, str) and 0 <= shrinkage <= 1,
            f"shrinkage is a number from 0 to 1 or 'auto', not {shrinkage!r}",
        )


def _share(shrinkage: Shrinkage, products: Gram | Sketch, variance: np.ndarray) -> float:
    if shrinkage == "auto":
        assert isinstance(products, Gram)
        return products.shrinkage(variance)
    return 0.0 if shrinkage is None else float(shrinkage)


def _rest(
    variance: Float64[np.ndarray, " weight"], factors: Float[np.ndarray, "weight rank"]
) -> Float64[np.ndarray, " weight"]:
    """What the factors leave of the variances; a rest within rounding is none."""
    rest = variance - _row_squares(factors)
    rounding = max(8 * float(np.finfo(factors.dtype).eps), 1e-12)
    return np.where(rest > rounding * variance, rest, 0.0)


def _row_squares(factors: Float[np.ndarray, "weight rank"]) -> Float64[np.ndarray, " weight"]:
    return np.einsum("wk,wk->w", factors, factors, dtype=np.float64)


@partial(jax.jit, static_argnums=(1, 2))
def _normals(key: jax.Array, n: int, size: int) -> Float[jax.Array, "n size"]:
    return jax.vmap(lambda i: jax.random.normal(jax.random.fold_in(key, i), (size,)))(jnp.arange(n))
