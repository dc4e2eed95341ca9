"""Mean, variance and principal axes of draws in at most two passes, a few columns in memory at a time.

Write X for the centred draws, one row per draw and one column per weight.  The first pass gives the
means, the variances and a basis Q of draw space; the second gives Q'X, whose rows span the principal
axes of the weights.  The passes go over columns, where a chunk has all draws of its weights: each chunk
is centred exactly, and nothing has to be updated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Float64

from symbayes.distributions.layout import Layout, walk
from symbayes.draws import Draws

EXACT_DRAWS = 2048
"""Up to so many draws, the Gram matrix of the draws is formed; with more, a random sketch."""


@dataclass
class Gram:
    """The inner products XX' of the centred draws: its leading eigenvectors are the exact basis."""

    draws: int
    matrix: Float64[np.ndarray, "draw draw"] = field(init=False)
    fourth_powers: float = 0.0

    def __post_init__(self) -> None:
        self.matrix = np.zeros((self.draws, self.draws))

    def add(self, deviation: Float64[np.ndarray, "draw column"]) -> None:
        self.matrix += deviation @ deviation.T
        squares = deviation**2
        self.fourth_powers += float(np.vdot(squares, squares))

    def basis(self, rank: int) -> Float64[np.ndarray, "draw rank"]:
        return leading_axes(self.matrix, rank)

    def shrinkage(self, variance: Float64[np.ndarray, " weight"]) -> float:
        """The share by which covariances are best shrunk to zero (Schäfer and Strimmer 2005, target D).

        It is the sum of Var(s_ij) over the sum of s_ij^2, both over i != j.  The sums over all pairs of
        weights are sums over pairs of draws: s_ij = sum_k x_ki x_kj / (M-1), so the sum of s_ij^2 is
        |XX'|^2 / (M-1)^2.  Draws count as independent, so along a chain the share comes out too small.
        """
        m = self.draws
        squares = np.sum(self.matrix**2) - (m - 1) ** 2 * np.sum(variance**2)
        products = np.sum(np.diag(self.matrix) ** 2) - self.fourth_powers
        if squares <= 0:
            return 1.0
        return float(np.clip((products - squares / m) * m / ((m - 1) * squares), 0.0, 1.0))


@dataclass
class Sketch:
    """A random image X Omega: its span is close to that of the leading axes (Halko et al. 2011, alg. 4.1).

    The width is twice the rank and 32 more.  By their theorem 10.5 the expected squared error of the
    projection is then below twice that of the best axes.
    """

    draws: int
    width: int
    image: Float64[np.ndarray, "draw width"] = field(init=False)

    def __post_init__(self) -> None:
        self.image = np.zeros((self.draws, self.width))
        # One stream in the order of the weights, so that the size of the chunks changes nothing.
        self._rng = np.random.default_rng(0)

    @staticmethod
    def width_for(rank: int) -> int:
        return 2 * rank + 32

    def add(self, deviation: Float64[np.ndarray, "draw column"]) -> None:
        self.image += deviation @ self._rng.normal(size=(deviation.shape[1], self.width))

    def basis(self, rank: int) -> Float64[np.ndarray, "draw width"]:
        return np.linalg.qr(self.image)[0]


@dataclass(frozen=True)
class Moments:
    """Mean of all variables, unbiased variance of the weights, and the precision of the draws."""

    mean: Float64[np.ndarray, " variable"]
    variance: Float64[np.ndarray, " weight"]
    dtype: np.dtype


def moments(draws: Draws, layout: Layout, max_bytes: int, products: Gram | Sketch | None = None) -> Moments:
    """One pass: means and variances in float64; the centred draws are also given to `products`."""
    mean, variance = np.zeros(layout.size), np.zeros(layout.size)
    dtype = np.dtype(np.float32)
    for place, columns in walk(draws, layout, max_bytes):
        dtype = np.promote_types(dtype, columns.dtype)
        # Relative to the first draw, so that a constant has a variance of exactly zero.
        shifted = columns.astype(np.float64) - columns[0].astype(np.float64)
        centre = shifted.mean(axis=0)
        deviation = shifted - centre
        mean[place] = columns[0] + centre
        variance[place] = np.sum(deviation**2, axis=0) / max(len(columns) - 1, 1)
        if products is not None and place.start < layout.weight_count:
            products.add(deviation)
    return Moments(mean, variance[: layout.weight_count], dtype)


def leading_factors(
    draws: Draws, layout: Layout, found: Moments, products: Gram | Sketch, rank: int, max_bytes: int
) -> Float[np.ndarray, "weight rank"]:
    """A second pass: U with UU' the part of the covariance along its leading axes."""
    basis = products.basis(rank) / np.sqrt(products.draws - 1)
    projected = np.empty((layout.weight_count, basis.shape[1]), found.dtype)
    for place, columns in walk(draws, layout, max_bytes, constants=False):
        projected[place] = (columns - found.mean[place]).T @ basis
    if basis.shape[1] == rank:
        return projected
    axes = leading_axes((projected.T @ projected).astype(np.float64), rank)
    return projected @ axes.astype(found.dtype)


def leading_axes(matrix: Float64[np.ndarray, "n n"], rank: int) -> Float64[np.ndarray, "n rank"]:
    """The eigenvectors of the largest eigenvalues of a symmetric matrix."""
    from scipy.linalg import eigh  # slow to import

    size = len(matrix)
    return eigh(matrix, subset_by_index=[size - rank, size - 1])[1]
