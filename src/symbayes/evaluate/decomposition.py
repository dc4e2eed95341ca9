"""The Brier score in three parts (Murphy 1973): reliability, resolution and uncertainty.

    Brier = reliability - resolution + uncertainty

For each class the points are put in bins of equal width by the class's probability, as for ECE.  With share
``w_b``, mean probability ``p_b`` and frequency ``o_b`` of the class in bin ``b``, and its frequency ``o`` in
all,

    reliability = sum_b w_b (p_b - o_b)^2        how far stated probabilities are from what happens
    resolution = sum_b w_b (o_b - o)^2 + c       how much the bins differ in what happens
    uncertainty = o (1 - o)                      what no prediction changes

each summed over classes.  With the covariance term within bins

    c = 1/n sum_b sum_{i in b} (p_i - p_b) (2 (o_i - o_b) - (p_i - p_b))

the sum is the Brier score exactly for any number of bins (Stephenson et al. 2008: Two extra components in the
Brier score decomposition).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.calibration import BINS, binned, require_bins
from symbayes.evaluate.inputs import labelled


@dataclass(frozen=True)
class BrierParts:
    """``brier = reliability - resolution + uncertainty``."""

    reliability: float
    resolution: float
    uncertainty: float


def brier_decomposition(probs: ArrayLike, y: ArrayLike, bins: int = BINS) -> BrierParts:
    """The three parts of the Brier score, each summed over classes."""
    return parts_of(*class_sums(probs, y, bins))


def class_sums(probs: ArrayLike, y: ArrayLike, bins: int = BINS) -> tuple[np.ndarray, ...]:
    """Of each class and bin, (k, bins): how many points, and sums of p, hits, p^2 and p times hit."""
    p, labels = labelled(probs, y)
    require_bins(bins)
    sums = np.zeros((5, p.shape[1], bins))
    for k in range(p.shape[1]):
        stated, hit = p[:, k], (labels == k).astype(np.float64)
        for number, values in enumerate((np.ones(len(p)), stated, hit, stated**2, stated * hit)):
            sums[number, k] = np.bincount(binned(stated, bins), values, minlength=bins)
    return tuple(sums)


def parts_of(
    count: np.ndarray, stated: np.ndarray, hits: np.ndarray, squares: np.ndarray, products: np.ndarray
) -> BrierParts:
    """From the sums of each class and bin."""
    size, points = np.maximum(count, 1), count.sum(axis=1)
    p, met, overall = stated / size, hits / size, hits.sum(axis=1) / points
    weight = count / points[:, None]
    # Within a bin: twice the covariance of p and hit, less the variance of p, both summed over its points.
    inner = 2 * (products - count * p * met) - (squares - count * p**2)
    return BrierParts(
        float(np.sum(weight * (p - met) ** 2)),
        float(np.sum(weight * (met - overall[:, None]) ** 2) + np.sum(inner.sum(axis=1) / points)),
        float(np.sum(overall * (1 - overall))),
    )


def brier_reliability(probs: ArrayLike, y: ArrayLike) -> float:
    """How far stated probabilities are from what happens; 0 where they are met."""
    return brier_decomposition(probs, y).reliability


def brier_resolution(probs: ArrayLike, y: ArrayLike) -> float:
    """How much predictions tell cases apart, at most the uncertainty where they are reliable."""
    return brier_decomposition(probs, y).resolution


def brier_uncertainty(probs: ArrayLike, y: ArrayLike) -> float:
    """The Brier score of always predicting the frequencies of the classes."""
    return brier_decomposition(probs, y).uncertainty
