"""Probabilities changed by a rising step function of each class, fitted to validation labels.

For each class the function that rises with the class's probability and has the smallest squared distance
from the labels (1 for the class, 0 for others) is found by pooling neighbours that fall; between the
validation points it is a straight line, and beyond them it is level.  The classes are then made to sum to
one.  A class may get a probability of exactly 0, which costs much in the log likelihood if it is then seen.

Reference: Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass probability
estimates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import labelled, probabilities


@dataclass(frozen=True, eq=False)
class Isotonic:
    """Of each class, probabilities in rising order and what they are changed to."""

    steps: tuple[tuple[np.ndarray, np.ndarray], ...]

    @classmethod
    def fit(cls, probs: ArrayLike, y: ArrayLike) -> Isotonic:
        """The rising function of each class that is closest to the labels."""
        p, labels = labelled(probs, y)
        return cls(tuple(_rising(p[:, k], labels == k) for k in range(p.shape[1])))

    def apply(self, probs: ArrayLike) -> np.ndarray:
        """Probabilities (..., k), changed; where every class gets none, they stay as they are."""
        p = probabilities(probs)
        if p.shape[-1] != len(self.steps):
            raise ValueError(f"probs has {p.shape[-1]} classes, but this was fitted to {len(self.steps)}.")
        changed = np.stack([np.interp(p[..., k], *step) for k, step in enumerate(self.steps)], axis=-1)
        total = changed.sum(axis=-1, keepdims=True)
        return np.where(total > 0, changed / np.where(total > 0, total, 1), p)

    @property
    def words(self) -> str:
        return (
            f"{sum(len(np.unique(values)) for _, values in self.steps)} levels in {len(self.steps)} classes"
        )


def _rising(score: np.ndarray, hit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.optimize import isotonic_regression

    places, group = np.unique(score, return_inverse=True)
    count = np.bincount(group)
    fitted = isotonic_regression(np.bincount(group, hit) / count, weights=count)
    return places, np.asarray(fitted.x)
