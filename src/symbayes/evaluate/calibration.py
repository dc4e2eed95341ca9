"""Whether a stated probability is met by the share of hits: reliability, ECE, ACE.

For outputs with positions, every position of every example counts as a point.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import labelled


@dataclass(frozen=True)
class Reliability:
    """A reliability diagram: bin i holds the points with `edges[i] < confidence <= edges[i + 1]`.

    Attributes:
        edges: (bins + 1,) borders of the bins, from 0 to 1.
        count: (bins,) points per bin; their sum is the number of points.
        confidence: (bins,) mean confidence in the bin, nan where it is empty.
        accuracy: (bins,) share of hits in the bin, nan where it is empty.
    """

    edges: np.ndarray
    count: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray


def reliability(probs: ArrayLike, y: ArrayLike, bins: int = 15) -> Reliability:
    """Top-label confidence against accuracy in equal-width bins, closed on the right (Guo et al. 2017)."""
    confidence, hit = _top_label(probs, y)
    _check_bins(bins)
    edges = np.arange(bins + 1) / bins  # correctly rounded, unlike linspace: 7/12 lies on its edge
    # Only inner edges decide: confidence 0, and one rounded to just above 1, still fall in a bin.
    index = np.digitize(confidence, edges[1:-1], right=True)
    count = np.bincount(index, minlength=bins)
    with np.errstate(invalid="ignore"):
        return Reliability(
            edges,
            count,
            np.bincount(index, confidence, minlength=bins) / count,
            np.bincount(index, hit, minlength=bins) / count,
        )


def ece(probs: ArrayLike, y: ArrayLike, bins: int = 15) -> float:
    """Expected calibration error `sum_b count_b / n |accuracy_b - confidence_b|`.

    Top label, equal-width bins (Naeini et al. 2015, Guo et al. 2017).
    """
    diagram = reliability(probs, y, bins)
    gap = np.abs(diagram.accuracy - diagram.confidence)
    return float(np.nansum(diagram.count * gap) / diagram.count.sum())


def ace(probs: ArrayLike, y: ArrayLike, bins: int = 15) -> float:
    """Adaptive calibration error of the top label: `mean_r |accuracy_r - confidence_r|` over equal-mass bins.

    See `classwise_ace` for the form over all classes and for how bins are cut.
    """
    confidence, hit = _top_label(probs, y)
    _check_bins(bins)
    return _equal_mass_gap(confidence, hit, bins)


def classwise_ace(probs: ArrayLike, y: ArrayLike, bins: int = 15) -> float:
    """Adaptive calibration error over all classes (Nixon et al. 2019), without a threshold.

    `1 / (K R) sum_k sum_r |accuracy(r, k) - confidence(r, k)|`: for each class the points are sorted by
    the class's probability and cut into R bins whose sizes differ by at most one (R falls to n when there
    are fewer points than bins). Points with equal probability share their mean hit rate, so that the order
    of the data does not matter.
    """
    p, labels = labelled(probs, y)
    _check_bins(bins)
    return float(np.mean([_equal_mass_gap(p[:, k], labels == k, bins) for k in range(p.shape[1])]))


def _top_label(probs: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    p, labels = labelled(probs, y)
    return p.max(axis=1), p.argmax(axis=1) == labels


def _equal_mass_gap(score: np.ndarray, hit: np.ndarray, bins: int) -> float:
    order = np.argsort(score)
    _, group = np.unique(score, return_inverse=True)
    rate = (np.bincount(group, hit) / np.bincount(group))[group]
    parts = np.array_split((rate - score)[order], min(bins, len(score)))
    return float(np.mean([abs(part.mean()) for part in parts]))


def _check_bins(bins: int) -> None:
    if bins < 1:
        raise ValueError(f"bins must be at least 1, but is {bins}.")
