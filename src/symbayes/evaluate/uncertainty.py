"""How unsure predictions are, and how much of it is disagreement between draws; all in nats."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from symbayes.evaluate.inputs import probabilities


def entropy(probs: ArrayLike) -> np.ndarray:
    """Shannon entropy `-sum_k p_k ln p_k` over the last axis, with `0 ln 0 = 0`."""
    return np.asarray(entr(probabilities(probs)).sum(axis=-1))


def mean_entropy(probs: ArrayLike) -> float:
    """The entropy of a mean predictive (n, ..., k), averaged over points."""
    return float(np.mean(entropy(probs)))


def mutual_information(probs: ArrayLike) -> np.ndarray:
    """Mutual information between label and draw (Houlsby et al. 2011): (draws, n, ..., k) to (n, ...).

    Entropy of the mean over draws minus the mean over draws of the entropy. It is not negative, except by
    rounding, and at most ln k.
    """
    p = probabilities(probs)
    if p.ndim < 3 or p.shape[0] == 0:
        raise ValueError(
            f"probs must have shape (draws, n, ..., k) with draws >= 1, but has shape {p.shape}."
        )
    of_mean = entr(p.mean(axis=0)).sum(axis=-1)
    return of_mean - entr(p).sum(axis=-1).mean(axis=0)


def mean_mutual_information(probs: ArrayLike) -> float:
    """The mutual information of (draws, n, ..., k), averaged over points."""
    return float(np.mean(mutual_information(probs)))
