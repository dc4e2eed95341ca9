"""Detection: whether a score distinguishes out-of-distribution inputs from those of the test set.

Out-of-distribution inputs are the positives, and a higher score is more suspicious.  With ``S`` the score of
a random out-of-distribution input and ``S_0`` that of one of the test set,

    AUROC = P(S > S_0) + 1/2 P(S = S_0)
    FPR95 = P(S_0 >= t)                    t the highest threshold with P(S >= t) >= 0.95
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import finite


def auroc(inside: ArrayLike, outside: ArrayLike) -> float:
    """Probability that an out-of-distribution input has the higher score; equal scores count one half.

    The area under the receiver operating characteristic, from ranks (Hanley and McNeil 1982).
    """
    from scipy.stats import rankdata  # takes half a second to import

    known, foreign = _scores(inside, outside)
    ranks = rankdata(np.concatenate([foreign, known]))[: len(foreign)]
    pairs = len(foreign) * len(known)
    return float((ranks.sum() - len(foreign) * (len(foreign) + 1) / 2) / pairs)


def aupr_out(inside: ArrayLike, outside: ArrayLike) -> float:
    """Average precision with out-of-distribution inputs as the positives: a high score calls them.

    ``sum_t (recall_t - recall_(t-1)) precision_t`` over all thresholds, from the highest score down; equal
    scores are on one side (Davis and Goadrich 2006).  Chance is the share of the positives.
    """
    known, foreign = _scores(inside, outside)
    return _average_precision(foreign, known)


def aupr_in(inside: ArrayLike, outside: ArrayLike) -> float:
    """Average precision with the test set as the positives: a low score calls them."""
    known, foreign = _scores(inside, outside)
    return _average_precision(-known, -foreign)


@dataclass(frozen=True)
class Roc:
    """The receiver operating characteristic: shares of both sets at or above each threshold, from (0, 0).

    Attributes:
        false: share of the test set that is classified as out of distribution.
        true: share of the out-of-distribution inputs that are.
    """

    false: np.ndarray
    true: np.ndarray


def roc(inside: ArrayLike, outside: ArrayLike) -> Roc:
    """The curve whose area is `auroc`."""
    known, foreign = _scores(inside, outside)
    false, true = _called(known, foreign)
    return Roc(np.append(0.0, false / len(known)), np.append(0.0, true / len(foreign)))


def fpr(inside: ArrayLike, outside: ArrayLike, at: float = 0.95) -> float:
    """False positives at a share `at` of true positives (Liang et al. 2018).

    The threshold is the highest that finds this share of out-of-distribution inputs; what scores as high
    as the threshold is called foreign, so equal scores are on one side.
    """
    known, foreign = _scores(inside, outside)
    if not 0 < at <= 1:
        raise ValueError(f"at is a share above 0 and at most 1, not {at}.")
    # The smallest whole number of foreign inputs that is a share of at least `at`; 19 of 20 is 95 %.
    found = int(np.ceil(round(at * len(foreign), 9)))
    threshold = np.sort(foreign)[len(foreign) - found]
    return float(np.mean(known >= threshold))


def _called(known: np.ndarray, foreign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many of each score at least as high as each threshold, from the highest down."""
    thresholds = np.unique(np.concatenate([known, foreign]))[::-1]

    def reach(scores: np.ndarray) -> np.ndarray:
        return len(scores) - np.searchsorted(np.sort(scores), thresholds)

    return reach(known), reach(foreign)


def _average_precision(positive: np.ndarray, negative: np.ndarray) -> float:
    false, true = _called(negative, positive)
    precision, recall = true / (true + false), true / len(positive)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def _scores(inside: ArrayLike, outside: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    scores = finite(inside, "inside"), finite(outside, "outside")
    for name, each in zip(("inside", "outside"), scores, strict=True):
        if each.ndim != 1:
            raise ValueError(f"{name} must hold one score per input, shape (n,), but has shape {each.shape}.")
    return scores
