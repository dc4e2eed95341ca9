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

from symbayes.evaluate.calibration import binned, require_bins
from symbayes.evaluate.inputs import labelled


@dataclass(frozen=True)
class BrierParts:
    """``brier = reliability - resolution + uncertainty``."""

    reliability: float
    resolution: float
    uncertainty: float


def brier_decomposition(probs: ArrayLike, y: ArrayLike, bins: int = 15) -> BrierParts:
    """The three parts of the Brier score, each summed over classes."""
    p, labels = labelled(probs, y)
    require_bins(bins)
    parts = [_of_class(p[:, k], (labels == k).astype(np.float64), bins) for k in range(p.shape[1])]
    return BrierParts(*np.sum(parts, axis=0).tolist())


def brier_reliability(probs: ArrayLike, y: ArrayLike) -> float:
    """How far stated probabilities are from what happens; 0 where they are met."""
    return brier_decomposition(probs, y).reliability


def brier_resolution(probs: ArrayLike, y: ArrayLike) -> float:
    """How much predictions tell cases apart, at most the uncertainty where they are reliable."""
    return brier_decomposition(probs, y).resolution


def brier_uncertainty(probs: ArrayLike, y: ArrayLike) -> float:
    """The Brier score of always predicting the frequencies of the classes."""
    return brier_decomposition(probs, y).uncertainty


def _of_class(p: np.ndarray, hit: np.ndarray, bins: int) -> tuple[float, float, float]:
    index = binned(p, bins)
    count = np.bincount(index, minlength=bins)
    size = np.maximum(count, 1)
    stated = np.bincount(index, p, minlength=bins) / size
    met = np.bincount(index, hit, minlength=bins) / size
    weight, overall = count / len(p), hit.mean()
    inner, noise = p - stated[index], hit - met[index]
    return (
        float(np.sum(weight * (stated - met) ** 2)),
        float(np.sum(weight * (met - overall) ** 2) + np.mean(inner * (2 * noise - inner))),
        float(overall * (1 - overall)),
    )
