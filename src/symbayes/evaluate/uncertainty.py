"""Uncertainty: how unsure predictions are, and how much of it is disagreement between draws; all in nats.

With the probabilities ``p_s`` of draw ``s`` of ``S``, their mean ``p`` and the entropy
``H(p) = - sum_k p_k log p_k``,

    H(p) = 1/S sum_s H(p_s) + I
    total = aleatoric + epistemic

where ``I`` is the mutual information of label and draw.  For real targets the same holds of variances: that
of the mixture is the mean noise variance plus the variance of the draws' means.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from symbayes.evaluate.inputs import by_example, finite, of_draws, probabilities


def entropy(probs: ArrayLike) -> np.ndarray:
    """Shannon entropy `-sum_k p_k ln p_k` over the last axis, with `0 ln 0 = 0`."""
    return np.asarray(entr(probabilities(probs)).sum(axis=-1))


def mean_entropy(probs: ArrayLike) -> float:
    """The entropy of a mean predictive (n, ..., k), averaged over points."""
    return float(np.mean(entropies(probs)))


def entropies(probs: ArrayLike) -> np.ndarray:
    """Of each example, the entropy of a mean predictive (n, ..., k), averaged over its points: (n,)."""
    each = entropy(probs)
    return by_example(each, len(each))


def aleatoric_entropy(probs: ArrayLike) -> np.ndarray:
    """The mean over draws of the entropy: (draws, n, ..., k) to (n, ...)."""
    return entr(of_draws(probs)).sum(axis=-1).mean(axis=0)


def mean_aleatoric_entropy(probs: ArrayLike) -> float:
    """The mean entropy of the draws of (draws, n, ..., k), averaged over points."""
    return float(np.mean(aleatoric_entropies(probs)))


def aleatoric_entropies(probs: ArrayLike) -> np.ndarray:
    """Of each example, the mean entropy of the draws, averaged over its points: (n,)."""
    each = aleatoric_entropy(probs)
    return by_example(each, len(each))


def mutual_information(probs: ArrayLike) -> np.ndarray:
    """Mutual information between label and draw (Houlsby et al. 2011): (draws, n, ..., k) to (n, ...).

    Entropy of the mean over draws minus the mean over draws of the entropy. It is not negative, except by
    rounding, and at most ln k.
    """
    p = of_draws(probs)
    of_mean = entr(p.mean(axis=0)).sum(axis=-1)
    return of_mean - entr(p).sum(axis=-1).mean(axis=0)


def mean_mutual_information(probs: ArrayLike) -> float:
    """The mutual information of (draws, n, ..., k), averaged over points."""
    return float(np.mean(informations(probs)))


def informations(probs: ArrayLike) -> np.ndarray:
    """Of each example, the mutual information averaged over its points: (n,)."""
    each = mutual_information(probs)
    return by_example(each, len(each))


def disagreement(probs: ArrayLike) -> float:
    """Share of pairs of draws with different most probable classes, averaged over points.

    For (draws, n, ..., k) with two draws or more; of equal maxima the first counts.
    """
    return float(np.mean(disagreements(probs)))


def disagreements(probs: ArrayLike) -> np.ndarray:
    """Of each example, the share of pairs of draws that disagree, averaged over its points: (n,)."""
    p = of_draws(probs)
    draws, n, k = p.shape[0], p.shape[1], p.shape[-1]
    if draws < 2:
        raise ValueError("probs holds one draw: disagreement is between two or more.")
    labels = p.argmax(axis=-1).reshape(draws, -1)
    votes = np.stack([np.sum(labels == c, axis=0) for c in range(k)])
    agreeing = np.sum(votes * (votes - 1), axis=0)
    return by_example(1 - agreeing / (draws * (draws - 1)), n)


def root_mean_square(sd: ArrayLike) -> float:
    """Standard deviations as one number: the root of their mean square."""
    return float(np.sqrt(np.mean(mean_squares(sd))))


def mean_squares(sd: ArrayLike) -> np.ndarray:
    """Of each example, the mean square of its standard deviations (n, ...): (n,)."""
    values = finite(sd, "sd")
    if values.ndim == 0 or (values < 0).any():
        raise ValueError("sd must hold standard deviations of shape (n, ...), none of them negative.")
    return by_example(values**2, len(values))
