"""Kernel Stein discrepancy: how far draws are from a density, of which the gradient alone is needed.

With draws ``x``, scores ``s(x) = grad log p(x)`` and the kernel ``k(x, y) = (1 + |x - y|^2 / h^2)^(-1/2)``,
the Stein kernel

    u(x, y) = <s(x), s(y)> k + <s(x), grad_y k> + <s(y), grad_x k> + <grad_x, grad_y> k

has mean zero under ``p`` in either argument, so the mean over pairs of draws, the squared discrepancy, is
zero for draws of ``p`` (Liu et al. 2016; Gorham and Mackey 2017 on the choice of kernel).  Neither the
normalising constant nor a reference run is needed; the discrepancy of a reference is reported beside it as
the ceiling.

In function space: with a kernel ``k(g(x), g(y))`` of the predictions ``g`` in place of the weights, the same
sum has mean zero under ``p``, where the gradients of k are ``J(x)' grad k`` with the Jacobian ``J`` of ``g``.
It tests predictions together with the gradients of the density; weights that do not change the predictions
add no noise to it.  Since ``k(g(x), g(y))`` is continuous, first derivatives of ``g`` are enough, also for
networks with kinks (ReLU).
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
    h2 = _squared_bandwidth(squared, bandwidth)
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


def function_stein_kernel(
    values: ArrayLike, jacobians: ArrayLike, scores: ArrayLike, bandwidth: float | None = None
) -> np.ndarray:
    """u of all pairs of draws by what they predict: values (n, r), Jacobians (n, r, d) and scores (n, d).

    The bandwidth is the median distance of the values unless given.
    """
    g, j, s = finite(values, "values"), finite(jacobians, "jacobians"), finite(scores, "scores")
    n, d = len(g), s.shape[-1]
    if g.ndim != 2 or n < 2 or s.ndim != 2 or len(s) != n or j.shape != (n, g.shape[1], d):
        raise ValueError(
            "values (n, r), jacobians (n, r, d) and scores (n, d) are of the same two draws or more, "
            f"not {g.shape}, {j.shape} and {s.shape}."
        )
    apart = g[:, None] - g[None]
    squared = np.sum(apart**2, axis=-1)
    h2 = _squared_bandwidth(squared, bandwidth)
    base = 1 + squared / h2
    moved = np.einsum("ird,jd->ijr", j, s, optimize=True)  # how g of draw i moves along the score of draw j
    toward = np.sum(apart * (moved.transpose(1, 0, 2) - moved), axis=-1)
    flat = j.reshape(-1, d)
    tangent = (flat @ flat.T).reshape(n, g.shape[1], n, g.shape[1])
    bent = np.einsum("ija,iajb,ijb->ij", apart, tangent, apart, optimize=True)
    return (
        (s @ s.T) * base**-0.5
        + toward * base**-1.5 / h2
        + np.einsum("iaja->ij", tangent) * base**-1.5 / h2
        - 3 * bent * base**-2.5 / h2**2
    )


def function_ksd(
    values: ArrayLike, jacobians: ArrayLike, scores: ArrayLike, bandwidth: float | None = None
) -> float:
    """The squared discrepancy of functions: the mean of `function_stein_kernel` over pairs i != j."""
    return _mean_of_others(function_stein_kernel(values, jacobians, scores, bandwidth))


def ksd(x: ArrayLike, scores: ArrayLike, bandwidth: float | None = None) -> float:
    """The squared discrepancy of draws (n, d), unbiased for independent ones: the mean over pairs i != j."""
    return _mean_of_others(stein_kernel(x, scores, bandwidth))


def _squared_bandwidth(squared: np.ndarray, bandwidth: float | None) -> float:
    above = squared[np.triu_indices(len(squared), 1)]
    h2 = float(np.median(above)) if bandwidth is None else bandwidth**2
    if h2 <= 0:
        raise ValueError("draws must differ, or the bandwidth be given and positive.")
    return h2


def _mean_of_others(u: np.ndarray) -> float:
    return float((u.sum() - np.trace(u)) / (len(u) * (len(u) - 1)))
