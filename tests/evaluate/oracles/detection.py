"""Twins of what tells inputs from elsewhere."""

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from symbayes.posterior import Predictive

from .cases import Case, Oracle


def _doubt(predictive: Predictive) -> np.ndarray:
    """One minus the largest probability, or the root mean square of the standard deviation, per example."""
    arrays = predictive.arrays
    if "probs" in arrays:
        each = 1 - arrays["probs"][0].mean(axis=0).max(axis=-1)
        return each.reshape(len(each), -1).mean(axis=1)
    variance = (arrays["noise"][0] ** 2 + arrays["means"][0] ** 2).mean(axis=0) - arrays["means"][0].mean(
        0
    ) ** 2
    return np.sqrt(variance.reshape(len(variance), -1).mean(axis=1))


def _detected(case: Case) -> tuple[np.ndarray, np.ndarray]:
    known, foreign = _doubt(case.predictive), _doubt(case.ood)
    truth = np.r_[np.zeros(len(known)), np.ones(len(foreign))]
    # Scores that differ by rounding alone would be ordered at random.
    return truth, np.round(np.r_[known, foreign], 10)


def _fpr95(case: Case) -> float:
    false, true, _ = roc_curve(*_detected(case), drop_intermediate=False)
    return float(false[true >= 0.95 - 1e-12].min())


OF_DETECTION: dict[tuple[str, str], Oracle] = {
    ("AUROC", "classes"): lambda case: roc_auc_score(*_detected(case)),
    ("AUROC", "reals"): lambda case: roc_auc_score(*_detected(case)),
    ("FPR95", "classes"): _fpr95,
    ("FPR95", "reals"): _fpr95,
}
