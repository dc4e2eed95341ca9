"""Calibration: whether a stated probability agrees with the share of hits.  Reliability, ECE, ACE.

The top label of a point has a confidence, its probability, and is a hit or not.  ``n_b`` of ``n`` points are
in bin ``b``, with mean confidence ``c_b`` and share of hits ``h_b``.  ECE has bins of equal width, the others
of equal mass:

    ECE = sum_b n_b/n |h_b - c_b|
    ACE = mean_b |h_b - c_b|
    debiased^2 = sum_b n_b/n ((h_b - c_b)^2 - h_b (1 - h_b) / (n_b - 1)),   at least 0

The class-wise ACE is the mean over classes of the ACE of the class's probability.  For outputs with
positions, every position of every example counts as a point.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import labelled

BINS = 15


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

    @property
    def ece(self) -> float:
        """``sum_b count_b / n |accuracy_b - confidence_b|``."""
        gap = np.abs(self.accuracy - self.confidence)
        return float(np.nansum(self.count * gap) / self.count.sum())


def reliability(probs: ArrayLike, y: ArrayLike, bins: int = BINS) -> Reliability:
    """Top-label confidence against accuracy in equal-width bins, closed on the right (Guo et al. 2017)."""
    return diagram(*bin_sums(probs, y, bins))


def bin_sums(probs: ArrayLike, y: ArrayLike, bins: int = BINS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each bin of equal width: how many points it has, their summed confidence, and their hits."""
    confidence, hit = top_label(probs, y)
    require_bins(bins)
    index = binned(confidence, bins)
    count = np.bincount(index, minlength=bins)
    return count, np.bincount(index, confidence, minlength=bins), np.bincount(index, hit, minlength=bins)


def diagram(count: np.ndarray, confidence: np.ndarray, hits: np.ndarray) -> Reliability:
    """The diagram of bins of equal width with so many points, and these sums over them."""
    with np.errstate(invalid="ignore"):
        return Reliability(edges(len(count)), count, confidence / count, hits / count)


def edges(bins: int) -> np.ndarray:
    """Borders of bins of equal width."""
    return np.arange(bins + 1) / bins  # correctly rounded, unlike linspace: 7/12 lies on its edge


def binned(score: np.ndarray, bins: int) -> np.ndarray:
    """The bin of equal width, closed on the right, that each score is in."""
    # Only inner edges decide: a score of 0, and one rounded to just above 1, still fall in a bin.
    return np.digitize(score, edges(bins)[1:-1], right=True)


def ece(probs: ArrayLike, y: ArrayLike, bins: int = BINS) -> float:
    """Expected calibration error `sum_b count_b / n |accuracy_b - confidence_b|`.

    Top label, equal-width bins (Naeini et al. 2015, Guo et al. 2017).
    """
    return reliability(probs, y, bins).ece


def ace(probs: ArrayLike, y: ArrayLike, bins: int = BINS) -> float:
    """Adaptive calibration error of the top label: `mean_r |accuracy_r - confidence_r|` over equal-mass bins.

    See `classwise_ace` for the form over all classes and for how bins are cut.
    """
    return equal_mass_gap(*top_label(probs, y), bins)


def classwise_ace(probs: ArrayLike, y: ArrayLike, bins: int = BINS) -> float:
    """Adaptive calibration error over all classes (Nixon et al. 2019), without a threshold.

    `1 / (K R) sum_k sum_r |accuracy(r, k) - confidence(r, k)|`: for each class the points are sorted by
    the class's probability and cut into R bins whose sizes differ by at most one (R falls to n when there
    are fewer points than bins). Points with equal probability share their mean hit rate, so that the order
    of the data does not matter.
    """
    return classwise_gap(*labelled(probs, y), bins)


def classwise_gap(p: np.ndarray, labels: np.ndarray, bins: int = BINS) -> float:
    """The same of points (points, k) and labels (points,) that were checked."""
    return float(np.mean([equal_mass_gap(p[:, k], labels == k, bins) for k in range(p.shape[1])]))


def debiased_ce(probs: ArrayLike, y: ArrayLike, bins: int = BINS) -> float:
    """Root of the squared calibration error of the top label, less what chance adds (Kumar et al. 2019).

    ``sqrt( sum_b n_b / n ( (accuracy_b - confidence_b)^2 - accuracy_b (1 - accuracy_b) / (n_b - 1) ) )`` over
    the equal-mass bins of `ace`, and 0 where the sum is negative.  A bin of one point has no correction.
    """
    return debiased_gap(*top_label(probs, y), bins)


def debiased_gap(confidence: np.ndarray, hit: np.ndarray, bins: int = BINS) -> float:
    """The same of confidences and hits (points,)."""
    require_bins(bins)
    total = 0.0
    for rate, stated in _equal_mass(confidence, hit, bins):
        chance = rate.mean() * (1 - rate.mean()) / (len(rate) - 1) if len(rate) > 1 else 0.0
        total += len(rate) / len(hit) * ((rate.mean() - stated.mean()) ** 2 - chance)
    return float(np.sqrt(max(0.0, total)))


def top_label(probs: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Of each point, the largest probability, and whether it is the label's."""
    p, labels = labelled(probs, y)
    return p.max(axis=1), p.argmax(axis=1) == labels


def shared_rate(score: np.ndarray, hit: np.ndarray) -> np.ndarray:
    """The mean of `hit` over all points with the same score, for each point."""
    _, group = np.unique(score, return_inverse=True)
    return (np.bincount(group, hit) / np.bincount(group))[group]


def _equal_mass(score: np.ndarray, hit: np.ndarray, bins: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Hit rates and scores in each bin."""
    order, rate = np.argsort(score), shared_rate(score, hit)
    count = min(bins, len(score))
    return list(zip(np.array_split(rate[order], count), np.array_split(score[order], count), strict=True))


def equal_mass_gap(score: np.ndarray, hit: np.ndarray, bins: int = BINS) -> float:
    """Mean over bins of equal mass of the gap between scores and hits (points,)."""
    require_bins(bins)
    parts = _equal_mass(score, hit, bins)
    return float(np.mean([abs((rate - stated).mean()) for rate, stated in parts]))


def require_bins(bins: int) -> None:
    if bins < 1:
        raise ValueError(f"bins must be at least 1, but is {bins}.")
