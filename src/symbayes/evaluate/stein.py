"""Kernel Stein discrepancy: how far draws are from a density, of which the gradient alone is needed.

With draws ``x``, scores ``s(x) = grad log p(x)`` and the kernel ``k(x, y) = (1 + |x - y|^2 / h^2)^(-1/2)``,
the Stein kernel

    u(x, y) = <s(x), s(y)> k + <s(x), grad_y k> + <s(y), grad_x k> + <grad_x, grad_y> k

has mean zero under ``p`` in either argument, so the mean over pairs of draws, the squared discrepancy, is
zero for draws of ``p`` (Liu et al. 2016; Gorham and Mackey 2017 say why this kernel).  A constant of
normalisation does not matter, and no reference run is needed: that of a reference stands beside it as the
ceiling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import finite


def stein_kernel(x: ArrayLike, scores: ArrayLike, bandwidth: float | None = None) -> np.ndarray:
    """u of all pairs of draws (n, d); the bandwidth is the median distance unless given."""
    w, s = finite(x, "x"), finite(scores, "scores")
    if w.ndim != 2 or w.shape != s.shape or len(w) < 2:
        raise ValueError(
            f"x and scores have one shape (draws, d), of two draws or more, not {w.shape} and {s.shape}."
        )
    w = w - w.mean(axis=0)  # float64, and near zero: the Gram form keeps small distances
    gram = w @ w.T
    norms = np.diag(gram)
    squared = np.maximum(norms[:, None] + norms - 2 * gram, 0)
    np.fill_diagonal(squared, 0)
    h2 = float(np.median(squared[np.triu_indices(len(w), 1)])) if bandwidth is None else bandwidth**2
    if h2 <= 0:
        raise ValueError("draws must differ, or the bandwidth be given and positive.")
    base = 1 + squared / h2
    cross = s @ w.T  # <s_i, w_j>
    own = np.diag(cross)
    toward = (own[:, None] - cross) + (own[None] - cross.T)  # <s_i - s_j, w_i - w_j>
    return (
        (s @ s.T) * base**-0.5
        + toward * base**-1.5 / h2
        + w.shape[1] * base**-1.5 / h2
        - 3 * squared * base**-2.5 / h2**2
    )


def ksd(x: ArrayLike, scores: ArrayLike, bandwidth: float | None = None) -> float:
    """The squared discrepancy of draws (n, d), unbiased for independent ones: the mean over pairs i != j."""
    u = stein_kernel(x, scores, bandwidth)
    return float((u.sum() - np.trace(u)) / (len(u) * (len(u) - 1)))
