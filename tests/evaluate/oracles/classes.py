"""Twins of the scores of classes, and of how unsure they are."""

import itertools
import math

import numpy as np
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from sklearn.metrics import accuracy_score, brier_score_loss, jaccard_score, roc_auc_score

from .cases import Case, Oracle, labels, mean_probs

SMALLEST = 2.0**-126


def _accuracy(case: Case) -> float:
    return accuracy_score(labels(case), mean_probs(case.predictive).argmax(1))


def _top_5(case: Case) -> float:
    found = []
    for p, label in zip(mean_probs(case.predictive), labels(case), strict=True):
        found.append(label in sorted(range(len(p)), key=lambda c: (-p[c], c))[:5])
    return float(np.mean(found))


def _mean_iou(case: Case) -> float:
    guesses = mean_probs(case.predictive).argmax(1)
    there = sorted({*labels(case), *guesses})
    return jaccard_score(labels(case), guesses, labels=there, average="macro")


def _brier(case: Case) -> float:
    p = mean_probs(case.predictive)
    return brier_score_loss(labels(case), p, labels=list(range(p.shape[1])), scale_by_half=False)


def _nll(case: Case) -> float:
    p = mean_probs(case.predictive)
    clipped = np.maximum(p, SMALLEST)
    if clipped.shape[1] < 2:
        return 0.0
    return float(np.mean([-math.log(clipped[i, label]) for i, label in enumerate(labels(case))]))


def _errors(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Confidence of each point, and whether it is an error."""
    p = mean_probs(case.predictive)
    return p.max(axis=1), (p.argmax(axis=1) != labels(case)).astype(float)


def _aurc(case: Case) -> float:
    """The expected risk after each number of points, where points of equal confidence come in any order."""
    confidence, error = _errors(case)
    kept, risks = 0.0, []
    for value in sorted(set(confidence), reverse=True):
        same = error[confidence == value]
        for j in range(1, len(same) + 1):
            risks.append((kept + j * same.mean()) / (len(risks) + 1))
        kept += same.sum()
    return float(np.mean(risks))


def _augrc(case: Case) -> float:
    confidence, error = _errors(case)
    wrong = error.mean()
    if wrong in (0, 1):
        return wrong**2 / 2
    return (1 - roc_auc_score(1 - error, confidence)) * wrong * (1 - wrong) + wrong**2 / 2


def _coverage_at_risk(case: Case) -> float:
    confidence, error = _errors(case)
    kept = [confidence >= threshold for threshold in confidence]
    return max([float(np.mean(some)) for some in kept if np.mean(error[some]) <= 0.05], default=0.0)


def _entropy(case: Case) -> float:
    return float(np.mean(entropy(mean_probs(case.predictive), axis=1)))


def _aleatoric(case: Case) -> float:
    return float(np.mean(entropy(case.predictive.arrays["probs"][0], axis=-1)))


def _mutual_information(case: Case) -> float:
    each = case.predictive.arrays["probs"][0]
    mean = np.broadcast_to(each.mean(axis=0), each.shape)
    return float(np.mean(entropy(each, mean, axis=-1)))


def _pairwise(case: Case) -> float:
    """Jensen-Shannon divergence of two draws, as scipy has it: a distance, whose square it is."""
    each = case.predictive.arrays["probs"][0]
    each = each.reshape(len(each), -1, each.shape[-1])
    pairs = list(itertools.combinations(each, 2))
    return float(np.mean([jensenshannon(p, q, axis=-1) ** 2 for p, q in pairs])) if pairs else 0.0


def _disagreement(case: Case) -> float:
    guesses = case.predictive.arrays["probs"][0].argmax(axis=-1)
    return float(np.mean([np.mean(a != b) for a, b in itertools.combinations(guesses, 2)]))


OF_CLASSES: dict[tuple[str, str], Oracle] = {
    ("accuracy", "classes"): _accuracy,
    ("top-5", "classes"): _top_5,
    ("mean-IoU", "classes"): _mean_iou,
    ("NLL", "classes"): _nll,
    ("Brier", "classes"): _brier,
    ("AURC", "classes"): _aurc,
    ("AUGRC", "classes"): _augrc,
    ("coverage-at-risk", "classes"): _coverage_at_risk,
    ("entropy", "classes"): _entropy,
    ("aleatoric-entropy", "classes"): _aleatoric,
    ("mutual-information", "classes"): _mutual_information,
    ("pairwise-mutual-information", "classes"): _pairwise,
    ("disagreement", "classes"): _disagreement,
}
