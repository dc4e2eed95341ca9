"""The largest eigenvalues of a Hessian, by Lanczos' method: from products with vectors alone.

With v_1 of norm one and the recurrence ``b_j v_{j+1} = H v_j - a_j v_j - b_{j-1} v_{j-1}``, each v_{j+1} made
orthogonal to all before once more (without that, rounding repeats eigenvalues), the eigenvalues of the
tridiagonal matrix of a and b approach those of H, the outermost first.  Of each, ``b_m |last entry of its
eigenvector|`` bounds the distance to an eigenvalue of H (Lanczos 1950; Paige 1972).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

STEPS = 60


@dataclass(frozen=True)
class Eigenvalues:
    """The largest in size, largest first, and for each a bound of its distance to a true one."""

    values: np.ndarray
    bounds: np.ndarray


def top_eigenvalues(
    product: Callable[[np.ndarray], np.ndarray], size: int, count: int = 5, steps: int = STEPS, seed: int = 0
) -> Eigenvalues:
    """Of a symmetric matrix of this size that is given by its product with a vector (size,)."""
    if not 1 <= count <= size:
        raise ValueError(f"count is from 1 to {size}, the number of parameters, not {count}.")
    steps = min(size, max(steps, 2 * count))
    vector = np.random.default_rng(seed).normal(size=size)
    basis = [vector / np.linalg.norm(vector)]
    diagonal, beside = [], []
    for _ in range(steps):
        moved = np.asarray(product(basis[-1]), np.float64)
        if moved.shape != (size,) or not np.isfinite(moved).all():
            raise ValueError(f"the product with a vector must be finite and of shape ({size},).")
        diagonal.append(float(moved @ basis[-1]))
        for _ in range(2):
            moved = moved - np.stack(basis).T @ (np.stack(basis) @ moved)
        norm = float(np.linalg.norm(moved))
        beside.append(norm)
        if norm <= 1e-10 * max(map(abs, (*diagonal, *beside[:-1])), default=0.0):
            break  # the basis holds all that this start can find
        basis.append(moved / norm)
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1))
    largest = np.argsort(-np.abs(values))[:count]
    return Eigenvalues(values[largest], beside[-1] * np.abs(vectors[-1, largest]))
