"""A Gaussian fitted to draws: mean and variances of every weight, and the leading axes of the rest.

For U U' stands the best approximation of rank k to the empirical covariance S (Eckart and Young 1936), and d
is what that leaves of the variances, so that the variance of every single weight is the unbiased one whatever
the rank.  Sums are in float64.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Float64

from symbayes.distributions.layout import Layout
from symbayes.distributions.moments import EXACT_DRAWS, Gram, Sketch, leading_factors, moments
from symbayes.draws import Draws
from symbayes.specs import require
from symbayes.trees import Variables

Shrinkage = float | Literal["auto"] | None


def weight_count(draws: Draws) -> int:
    """How many weights a draw has; statistics of normalisers do not count."""
    return Layout(draws.shapes).weight_count


def largest_rank(draws: Draws) -> int:
    """The largest rank of a Gaussian that these draws allow: one less than draws, at most one per weight."""
    return min(draws.chains * len(draws) - 1, weight_count(draws))


def fit(
    draws: Draws, rank: int, shrinkage: Shrinkage, max_bytes: int
) -> tuple[Variables, Variables, Variables]:
    """Location, diagonal and factors; see `Gaussian.fit`."""
    count = draws.chains * len(draws)
    layout = Layout(draws.shapes)
    _check(draws, layout, rank, shrinkage)
    if rank == 0:
        found = moments(draws, layout, max_bytes)
        factors = np.zeros((layout.weight_count, 0), found.dtype)
    else:
        width = Sketch.width_for(rank)
        products = Gram(count) if count <= max(EXACT_DRAWS, 2 * width) else Sketch(count, width)
        found = moments(draws, layout, max_bytes, products)
        factors = leading_factors(draws, layout, found, products, rank, max_bytes)
        factors *= np.sqrt(1 - _share(shrinkage, products, found.variance)).astype(found.dtype)
    diagonal = _rest(found.variance, factors).astype(found.dtype)
    location = layout.tree(found.mean.astype(found.dtype))
    return location, layout.weight_tree(diagonal), layout.weight_tree(factors.T)


def _check(draws: Draws, layout: Layout, rank: int, shrinkage: Shrinkage) -> None:
    count = draws.chains * len(draws)
    require(bool(layout.weights), "there is nothing to fit: the draws hold no parameter")
    require(count > 1, f"a Gaussian needs at least two draws to have a variance, not {count}")
    most = largest_rank(draws)
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
    rest = variance - np.einsum("wk,wk->w", factors, factors, dtype=np.float64)
    rounding = max(8 * float(np.finfo(factors.dtype).eps), 1e-12)
    return np.where(rest > rounding * variance, rest, 0.0)
