"""Twins of what tells out-of-distribution inputs, by every score."""

from collections.abc import Callable

import numpy as np
from scipy.stats import entropy
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from symbayes.posterior import Predictive

from .cases import Case, Oracle

Score = Callable[[Predictive], np.ndarray]


def _doubt(predictive: Predictive) -> np.ndarray:
    """One minus the largest probability, or the root mean square of the standard deviation, per example."""
    arrays = predictive.arrays
    if "probs" in arrays:
        return _per_example(1 - arrays["probs"][0].mean(axis=0).max(axis=-1))
    squares = (arrays["noise"][0] ** 2 + arrays["means"][0] ** 2).mean(axis=0)
    return np.sqrt(_per_example(squares - arrays["means"][0].mean(axis=0) ** 2))


def _entropy(predictive: Predictive) -> np.ndarray:
    return _per_example(entropy(predictive.arrays["probs"][0].mean(axis=0), axis=-1))


def _information(predictive: Predictive) -> np.ndarray:
    each = predictive.arrays["probs"][0]
    return _per_example(entropy(each, np.broadcast_to(each.mean(axis=0), each.shape), axis=-1).mean(axis=0))


def _energy(predictive: Predictive) -> np.ndarray:
    return _per_example(predictive.arrays["energies"][0].mean(axis=0))


def _per_example(each: np.ndarray) -> np.ndarray:
    return each.reshape(len(each), -1).mean(axis=1)


def _detected(case: Case, score: Score) -> tuple[np.ndarray, np.ndarray]:
    """The predictives' own scores once they are found right: rounding decides the order of equal ones."""
    parts = []
    for predictive in (case.predictive, case.ood):
        own = getattr(predictive, ATTRIBUTES[score])
        np.testing.assert_allclose(own, score(predictive), rtol=1e-9, atol=1e-12)
        parts.append(own)
    return np.repeat([0, 1], [len(part) for part in parts]), np.concatenate(parts)


ATTRIBUTES = {_doubt: "doubt", _entropy: "uncertainty", _information: "information", _energy: "energy"}


def _aupr_in(case: Case, score: Score) -> float:
    truth, scores = _detected(case, score)
    return average_precision_score(1 - truth, -scores)


def _fpr95(case: Case, score: Score) -> float:
    false, true, _ = roc_curve(*_detected(case, score), drop_intermediate=False)
    return float(false[true >= 0.95 - 1e-12].min())


MEASURES: dict[str, Callable[[Case, Score], float]] = {
    "AUROC": lambda case, score: roc_auc_score(*_detected(case, score)),
    "AUPR-out": lambda case, score: average_precision_score(*_detected(case, score)),
    "AUPR-in": _aupr_in,
    "FPR95": _fpr95,
}
SCORES: dict[tuple[str, str], Score] = {
    ("", "classes"): _doubt,
    ("", "reals"): _doubt,
    ("-entropy", "classes"): _entropy,
    ("-MI", "classes"): _information,
    ("-energy", "classes"): _energy,
}

OF_DETECTION: dict[tuple[str, str], Oracle] = {
    (f"{name}{suffix}", kind): lambda case, measure=measure, score=score: measure(case, score)
    for name, measure in MEASURES.items()
    for (suffix, kind), score in SCORES.items()
}
