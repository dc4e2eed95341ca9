"""Exact gains of exchanging two units whose index is on two axes of some term.

There the objective ``sum_ij r_ij v_p(i)p(j)`` is quadratic in the permutation.  The linear assignment at its
gradient may overshoot; exchanging two units at a time cannot, since the gain of every exchange is known
exactly: that of the gradient, corrected where both units meet.
"""

from __future__ import annotations

import numpy as np


def exchange_gains(gram: np.ndarray, twice: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The gain of exchanging units i and j, for all pairs.

    `gram` is the gradient (n, n) of the objective over all terms; `twice` are reference and network of the
    terms that carry the index on their first two axes.
    """
    diagonal = np.diagonal(gram)
    gains = gram + gram.T - diagonal[:, None] - diagonal[None, :]
    for r, v in twice:
        gains = gains + _meeting(_flat(r), _flat(v))
    np.fill_diagonal(gains, 0.0)
    return gains


def _flat(array: np.ndarray) -> np.ndarray:
    return array.reshape(*array.shape[:2], -1).astype(np.float64)


def _meeting(r: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What the entries (i, i), (i, j), (j, i), (j, j) give beyond the gradient."""
    n = np.arange(len(r))
    r_ii, v_ii = r[n, n][:, None], v[n, n][:, None]
    r_jj, v_jj = r[n, n][None, :], v[n, n][None, :]
    r_ji, v_ji = r.swapaxes(0, 1), v.swapaxes(0, 1)
    counted = (r_ii - r_ji) * (v_ji - v_ii) + (r - r_jj) * (v_jj - v)
    counted += (r_ii - r) * (v - v_ii) + (r_ji - r_jj) * (v_jj - v_ji)
    true = (r_ii - r_jj) * (v_jj - v_ii) + (r - r_ji) * (v_ji - v)
    return (true - counted).sum(-1)


def disjoint_exchanges(gains: np.ndarray, least: float) -> list[tuple[int, int]]:
    """Exchanges with a gain, the best first, none of which shares a unit with another."""
    upper = np.triu(gains, 1)
    order = np.argsort(upper, axis=None)[::-1][: 4 * len(gains)]
    free = np.ones(len(gains), bool)
    found = []
    for i, j in zip(*np.unravel_index(order, gains.shape), strict=True):
        if upper[i, j] <= least:
            break
        if free[i] and free[j]:
            free[[i, j]] = False
            found.append((int(i), int(j)))
    return found
