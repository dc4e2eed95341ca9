"""How close two predictives of classes are (the two measures of Izmailov et al. 2021).

With the mean probabilities ``p_{ik}`` and ``q_{ik}`` of class ``k`` at ``n`` points,

    agreement = share of points i with argmax_k p_{ik} = argmax_k q_{ik}
    TV = 1/n sum_i 1/2 sum_k |p_{ik} - q_{ik}|

Every position of every example counts as a point.
"""

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import by_example, points, predictive


def agreement(p: ArrayLike, q: ArrayLike) -> float:
    """Share of points for which two mean predictives (n, ..., k) have the same most probable class."""
    return float(np.mean(agreements(p, q)))


def agreements(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    """Of each example, the share of its points with the same most probable class: (n,)."""
    first, second = _pair(p, q)
    return by_example(first.argmax(axis=1) == second.argmax(axis=1), len(np.asarray(p)))


def total_variation(p: ArrayLike, q: ArrayLike) -> float:
    """Mean over points of half the L1 distance between two mean predictives (n, ..., k); from 0 to 1."""
    return float(np.mean(total_variations(p, q)))


def total_variations(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    """Of each example, half the L1 distance averaged over its points: (n,)."""
    first, second = _pair(p, q)
    return by_example(0.5 * np.abs(first - second).sum(axis=1), len(np.asarray(p)))


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    first, second = predictive(p, "p"), predictive(q, "q")
    if first.shape != second.shape:
        raise ValueError(f"p and q must have one shape, but have {first.shape} and {second.shape}.")
    return points(first), points(second)
