"""What every number in this room asks of its input, checked in one place."""

import numpy as np
from numpy.typing import ArrayLike

ROW_SUM_TOLERANCE = 1e-3


def probabilities(probs: ArrayLike, name: str = "probs", may_be_empty: bool = False) -> np.ndarray:
    """`probs` in float64 after checking that the last axis holds distributions over classes."""
    p = np.asarray(probs, dtype=np.float64)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(f"{name} needs a last axis over classes, but has shape {p.shape}.")
    if p.size == 0 and not may_be_empty:
        raise ValueError(f"{name} is empty: every axis needs at least one entry, but the shape is {p.shape}.")
    if not np.isfinite(p).all():
        raise ValueError(f"{name} holds values that are not finite: drop the draws that diverged first.")
    if (p < 0).any():
        raise ValueError(f"{name} holds negative values: pass probabilities, not logits.")
    error = np.abs(p.sum(axis=-1) - 1).max(initial=0)
    if error > ROW_SUM_TOLERANCE:
        raise ValueError(
            f"{name} must sum to one over the last axis, but is off by up to {error:.3g}: "
            "pass probabilities, not logits."
        )
    return p


def predictive(probs: ArrayLike, name: str = "probs") -> np.ndarray:
    """Probabilities of shape (n, k), or (n, ..., k) with positions between, with n >= 1."""
    p = probabilities(probs, name)
    if p.ndim < 2:
        raise ValueError(
            f"{name} must have shape (n, k), or (n, ..., k) with positions between, with n >= 1, "
            f"but has shape {p.shape}."
        )
    return p


def points(probs: np.ndarray) -> np.ndarray:
    """One row for every position of every example: (n, ..., k) to (points, k)."""
    return probs.reshape(-1, probs.shape[-1])


def labelled(
    probs: ArrayLike, y: ArrayLike, names: tuple[str, str] = ("probs", "y")
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (n, ..., k) with integer labels (n, ...) in 0..k-1, as (points, k) and (points,)."""
    p, labels = predictive(probs, names[0]), np.asarray(y)
    if not np.issubdtype(labels.dtype, np.integer):
        raise TypeError(f"{names[1]} must hold integer labels, but has dtype {labels.dtype}.")
    if labels.shape != p.shape[:-1]:
        raise ValueError(
            f"{names[1]} must have shape {p.shape[:-1]} to match {names[0]}, but has shape {labels.shape}."
        )
    if labels.min() < 0 or labels.max() >= p.shape[-1]:
        raise ValueError(
            f"{names[1]} must lie in 0..{p.shape[-1] - 1} for {p.shape[-1]} classes, "
            f"but spans {labels.min()}..{labels.max()}."
        )
    return points(p), labels.reshape(-1)


def by_example(each: np.ndarray, examples: int) -> np.ndarray:
    """Numbers of points, averaged over the positions of each example: (points,) to (n,)."""
    return each.reshape(examples, -1).mean(axis=1)


def of_draws(probs: ArrayLike, name: str = "probs") -> np.ndarray:
    """Probabilities of every draw, (draws, n, ..., k) with draws >= 1 and n >= 1."""
    p = probabilities(probs, name)
    if p.ndim < 3:
        raise ValueError(
            f"{name} must have shape (draws, n, ..., k) with draws >= 1 and n >= 1, but has shape {p.shape}."
        )
    return p


def finite(x: ArrayLike | float, name: str) -> np.ndarray:
    """`x` in float64 after checking that it is finite and not empty."""
    array = np.asarray(x, dtype=np.float64)
    if array.size == 0:
        raise ValueError(f"{name} is empty: shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds values that are not finite: drop the draws that diverged first.")
    return array
