"""Twins of the distances from a reference."""

import math

import numpy as np
from scipy.special import ndtr
from sklearn.metrics import accuracy_score

from .cases import Case, Oracle, mean_probs, normals


def _agreement(case: Case) -> float:
    return accuracy_score(
        mean_probs(case.reference).argmax(axis=1), mean_probs(case.predictive).argmax(axis=1)
    )


def _total_variation(case: Case) -> float:
    gaps = mean_probs(case.predictive) - mean_probs(case.reference)
    return float(np.mean([sum(max(g, 0.0) for g in gap) for gap in gaps]))


def _mean_distance(case: Case) -> float:
    squares = []
    pairs = zip(normals(case.predictive), normals(case.reference), strict=True)
    for ours, theirs in pairs:
        for (m, _), (other, w) in zip(ours, theirs, strict=True):
            variance = np.mean(w**2 + other**2) - np.mean(other) ** 2
            squares.append((np.mean(m) - np.mean(other)) ** 2 / variance)
    return math.sqrt(np.mean(squares))


def _mixture_total_variation(case: Case) -> float:
    """From the probabilities of many narrow bins: the sum of those that exceed the reference's."""
    found = []
    for ours, theirs in zip(normals(case.predictive), normals(case.reference), strict=True):
        for (m, w), (other, v) in zip(ours, theirs, strict=True):
            centres = np.concatenate([m, other])
            edges = np.linspace(centres.min() - 12, centres.max() + 12, 6000)[:, None]
            gap = np.diff(ndtr((edges - m) / w).mean(axis=1) - ndtr((edges - other) / v).mean(axis=1))
            found.append(np.maximum(gap, 0).sum())
    return float(np.mean(found))


OF_CLOSENESS: dict[tuple[str, str], Oracle] = {
    ("agreement", "classes"): _agreement,
    ("TV", "classes"): _total_variation,
    ("mean-distance", "reals"): _mean_distance,
    ("TV", "reals"): _mixture_total_variation,
}
