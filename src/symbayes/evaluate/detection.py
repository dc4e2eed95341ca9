"""Whether a score tells inputs from elsewhere (out of distribution) from those of the test set.

Inputs from elsewhere are the positives, and a higher score is more suspicious.
"""

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import finite


def auroc(inside: ArrayLike, outside: ArrayLike) -> float:
    """Probability that an input from elsewhere has the higher score; equal scores count one half.

    The area under the receiver operating characteristic, from ranks (Hanley and McNeil 1982).
    """
    from scipy.stats import rankdata  # takes half a second to import

    known, foreign = _scores(inside, outside)
    ranks = rankdata(np.concatenate([foreign, known]))[: len(foreign)]
    pairs = len(foreign) * len(known)
    return float((ranks.sum() - len(foreign) * (len(foreign) + 1) / 2) / pairs)


def fpr(inside: ArrayLike, outside: ArrayLike, at: float = 0.95) -> float:
    """False positives at a share `at` of true positives (Liang et al. 2018).

    The threshold is the highest that finds so many of the inputs from elsewhere; whatever scores as high as
    the threshold is called foreign, so equal scores are on one side.
    """
    known, foreign = _scores(inside, outside)
    if not 0 < at <= 1:
        raise ValueError(f"at is a share above 0 and at most 1, not {at}.")
    # The smallest whole number of foreign inputs that is a share of at least `at`; 19 of 20 is 95 %.
    found = int(np.ceil(round(at * len(foreign), 9)))
    threshold = np.sort(foreign)[len(foreign) - found]
    return float(np.mean(known >= threshold))


def _scores(inside: ArrayLike, outside: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    scores = finite(inside, "inside"), finite(outside, "outside")
    for name, each in zip(("inside", "outside"), scores, strict=True):
        if each.ndim != 1:
            raise ValueError(f"{name} must hold one score per input, shape (n,), but has shape {each.shape}.")
    return scores
