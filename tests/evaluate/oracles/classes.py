"""Twins of the scores and calibration errors of classes."""

import math

import numpy as np
from scipy.stats import entropy
from sklearn.metrics import accuracy_score, brier_score_loss

from .cases import Case, Oracle, labels, mean_probs

SMALLEST = 2.0**-126


def _brier(case: Case) -> float:
    p = mean_probs(case.predictive)
    return brier_score_loss(labels(case), p, labels=list(range(p.shape[1])), scale_by_half=False)


def _nll(case: Case) -> float:
    p = mean_probs(case.predictive)
    clipped = np.maximum(p, SMALLEST)
    if clipped.shape[1] < 2:
        return 0.0
    return float(np.mean([-math.log(clipped[i, label]) for i, label in enumerate(labels(case))]))


def _ece(case: Case) -> float:
    p, truth = mean_probs(case.predictive), labels(case)
    total, bins = 0.0, 15
    for b in range(bins):
        chosen = [
            i
            for i in range(len(p))
            if b / bins < p[i].max() <= (b + 1) / bins or (b == 14 and p[i].max() > 1)
        ]
        if chosen:
            hits = np.mean([p[i].argmax() == truth[i] for i in chosen])
            total += len(chosen) / len(p) * abs(hits - np.mean([p[i].max() for i in chosen]))
    return total


def _equal_mass(score: np.ndarray, hit: np.ndarray, bins: int = 15) -> float:
    """Points with equal scores share their hits, and bins differ by at most one in size."""
    shared = np.array([np.mean([h for s, h in zip(score, hit, strict=True) if s == own]) for own in score])
    order = sorted(range(len(score)), key=lambda i: score[i])
    parts = np.array_split(np.array(order), min(bins, len(score)))
    return float(np.mean([abs(np.mean(shared[part]) - np.mean(score[part])) for part in parts]))


def _ace(case: Case) -> float:
    p = mean_probs(case.predictive)
    return _equal_mass(p.max(axis=1), (p.argmax(axis=1) == labels(case)).astype(float))


def _classwise_ace(case: Case) -> float:
    p = mean_probs(case.predictive)
    return float(
        np.mean([_equal_mass(p[:, c], (labels(case) == c).astype(float)) for c in range(p.shape[1])])
    )


def _mutual_information(case: Case) -> float:
    each = case.predictive.arrays["probs"][0]
    mean = np.broadcast_to(each.mean(axis=0), each.shape)
    return float(np.mean(entropy(each, mean, axis=-1)))


OF_CLASSES: dict[tuple[str, str], Oracle] = {
    ("accuracy", "classes"): lambda case: accuracy_score(labels(case), mean_probs(case.predictive).argmax(1)),
    ("NLL", "classes"): _nll,
    ("Brier", "classes"): _brier,
    ("ECE", "classes"): _ece,
    ("ACE", "classes"): _ace,
    ("classwise-ACE", "classes"): _classwise_ace,
    ("entropy", "classes"): lambda case: float(np.mean(entropy(mean_probs(case.predictive), axis=1))),
    ("mutual-information", "classes"): _mutual_information,
}
