"""Independent implementations of every metric: scikit-learn, scipy, or slow transcriptions of the definition.

`ORACLES` has one for each row of METRICS and each kind that the row applies to.  They take a `Case`, and look
at draws, targets, a reference and inputs from elsewhere point by point.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import entropy, norm
from sklearn.metrics import accuracy_score, brier_score_loss, mean_squared_error, roc_auc_score, roc_curve

from symbayes.posterior import CategoricalPredictive, GaussianPredictive, Predictive

SMALLEST = 2.0**-126


@dataclass(frozen=True)
class Case:
    """A predictive with all that a metric may need."""

    predictive: Predictive
    y: np.ndarray
    reference: Predictive
    ood: Predictive


def classes(seed: int, n: int, k: int, draws: int, positions: tuple[int, ...], sharp: float) -> Case:
    """Random probabilities, among them ties, exact zeros and ones, and a class that no label has."""
    rng = np.random.default_rng(seed)

    def probs(examples: int) -> CategoricalPredictive:
        p = rng.dirichlet(np.full(k, sharp), size=(1, draws, examples, *positions))
        kind = rng.integers(0, 4, size=p.shape[:-1])
        certain = np.eye(k)[rng.integers(0, k, size=p.shape[:-1])]
        p = np.where((kind == 0)[..., None], certain, p)
        p = np.where((kind == 1)[..., None], np.full(k, 1 / k), p)
        return CategoricalPredictive(p)

    labels = rng.integers(0, max(1, k - 1), size=(n, *positions))
    return Case(probs(n), labels, probs(n), probs(n + 1))


def reals(seed: int, n: int, d: int, draws: int, positions: tuple[int, ...], spread: float) -> Case:
    """Random mixtures, with one noise for all or one for each mean."""
    rng = np.random.default_rng(seed)

    def mixture(examples: int, count: int) -> GaussianPredictive:
        means = spread * rng.normal(size=(1, count, examples, *positions, d))
        noise = 0.7 if seed % 2 else rng.uniform(0.4, 1.5, size=means.shape)
        return GaussianPredictive(means, noise)

    y = spread * rng.normal(size=(n, *positions, d))
    return Case(mixture(n, draws), y, mixture(n, draws + 1), mixture(n + 1, draws))


def _mean(predictive: Predictive) -> np.ndarray:
    """Mean probabilities, one row per point."""
    each = predictive.arrays["probs"][0]
    return np.mean(each, axis=0).reshape(-1, each.shape[-1])


def _normals(predictive: Predictive) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """For each point and output, means and scales of all draws."""
    means, noise = (predictive.arrays[name][0] for name in ("means", "noise"))
    points = [array.reshape(len(array), -1, array.shape[-1]) for array in (means, noise)]
    return [
        [(points[0][:, i, j], points[1][:, i, j]) for j in range(means.shape[-1])]
        for i in range(points[0].shape[1])
    ]


def _labels(case: Case) -> np.ndarray:
    return case.y.reshape(-1)


def _brier(case: Case) -> float:
    p = _mean(case.predictive)
    return brier_score_loss(_labels(case), p, labels=list(range(p.shape[1])), scale_by_half=False)


def _nll(case: Case) -> float:
    p = _mean(case.predictive)
    clipped = np.maximum(p, SMALLEST)
    if clipped.shape[1] < 2:
        return 0.0
    return float(np.mean([-math.log(clipped[i, label]) for i, label in enumerate(_labels(case))]))


def _ece(case: Case) -> float:
    p, labels = _mean(case.predictive), _labels(case)
    total, bins = 0.0, 15
    for b in range(bins):
        chosen = [
            i
            for i in range(len(p))
            if b / bins < p[i].max() <= (b + 1) / bins or (b == 14 and p[i].max() > 1)
        ]
        if chosen:
            hits = np.mean([p[i].argmax() == labels[i] for i in chosen])
            total += len(chosen) / len(p) * abs(hits - np.mean([p[i].max() for i in chosen]))
    return total


def _equal_mass(score: np.ndarray, hit: np.ndarray, bins: int = 15) -> float:
    """Points with equal scores share their hits, and bins differ by at most one in size."""
    shared = np.array([np.mean([h for s, h in zip(score, hit, strict=True) if s == own]) for own in score])
    order = sorted(range(len(score)), key=lambda i: score[i])
    parts = np.array_split(np.array(order), min(bins, len(score)))
    return float(np.mean([abs(np.mean(shared[part]) - np.mean(score[part])) for part in parts]))


def _ace(case: Case) -> float:
    p = _mean(case.predictive)
    return _equal_mass(p.max(axis=1), (p.argmax(axis=1) == _labels(case)).astype(float))


def _classwise_ace(case: Case) -> float:
    p = _mean(case.predictive)
    return float(
        np.mean([_equal_mass(p[:, c], (_labels(case) == c).astype(float)) for c in range(p.shape[1])])
    )


def _rmse(case: Case) -> float:
    means = [m.mean() for point in _normals(case.predictive) for m, _ in point]
    return math.sqrt(mean_squared_error(case.y.reshape(-1), means))


def _mixture_nll(case: Case) -> float:
    points = _normals(case.predictive)
    targets = case.y.reshape(len(points), -1)
    total = 0.0
    for point, target in zip(points, targets, strict=True):
        draws = len(point[0][0])
        each = [
            sum(norm.logpdf(target[j], m[s], w[s]) for j, (m, w) in enumerate(point)) for s in range(draws)
        ]
        total -= math.log(math.fsum(math.exp(e - max(each)) for e in each) / draws) + max(each)
    return total / len(points)


def _coverage(case: Case) -> float:
    inside = []
    flat = [one for point in _normals(case.predictive) for one in point]
    for (m, w), target in zip(flat, case.y.reshape(-1), strict=True):
        low, high = (
            brentq(lambda v, p=p, m=m, w=w: norm.cdf(v, m, w).mean() - p, -1e3, 1e3, xtol=1e-12)
            for p in (0.05, 0.95)
        )
        inside.append(low <= target <= high)
    return float(np.mean(inside))


def _mutual_information(case: Case) -> float:
    each = case.predictive.arrays["probs"][0]
    mean = np.broadcast_to(each.mean(axis=0), each.shape)
    return float(np.mean(entropy(each, mean, axis=-1)))


def _agreement(case: Case) -> float:
    return accuracy_score(_mean(case.reference).argmax(axis=1), _mean(case.predictive).argmax(axis=1))


def _total_variation(case: Case) -> float:
    gaps = _mean(case.predictive) - _mean(case.reference)
    return float(np.mean([sum(max(g, 0.0) for g in gap) for gap in gaps]))


def _mean_distance(case: Case) -> float:
    squares = []
    pairs = zip(_normals(case.predictive), _normals(case.reference), strict=True)
    for ours, theirs in pairs:
        for (m, _), (other, w) in zip(ours, theirs, strict=True):
            variance = np.mean(w**2 + other**2) - np.mean(other) ** 2
            squares.append((np.mean(m) - np.mean(other)) ** 2 / variance)
    return math.sqrt(np.mean(squares))


def _mixture_total_variation(case: Case) -> float:
    """From the probabilities of many narrow bins: the sum of those that exceed the reference's."""
    found = []
    for ours, theirs in zip(_normals(case.predictive), _normals(case.reference), strict=True):
        for (m, w), (other, v) in zip(ours, theirs, strict=True):
            centres = np.concatenate([m, other])
            edges = np.linspace(centres.min() - 12, centres.max() + 12, 6000)[:, None]
            gap = np.diff(ndtr((edges - m) / w).mean(axis=1) - ndtr((edges - other) / v).mean(axis=1))
            found.append(np.maximum(gap, 0).sum())
    return float(np.mean(found))


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


ORACLES: dict[tuple[str, str], Callable[[Case], float]] = {
    ("accuracy", "classes"): lambda case: accuracy_score(_labels(case), _mean(case.predictive).argmax(1)),
    ("NLL", "classes"): _nll,
    ("Brier", "classes"): _brier,
    ("ECE", "classes"): _ece,
    ("ACE", "classes"): _ace,
    ("classwise-ACE", "classes"): _classwise_ace,
    ("RMSE", "reals"): _rmse,
    ("NLL", "reals"): _mixture_nll,
    ("coverage", "reals"): _coverage,
    ("entropy", "classes"): lambda case: float(np.mean(entropy(_mean(case.predictive), axis=1))),
    ("mutual-information", "classes"): _mutual_information,
    ("agreement", "classes"): _agreement,
    ("TV", "classes"): _total_variation,
    ("mean-distance", "reals"): _mean_distance,
    ("TV", "reals"): _mixture_total_variation,
    ("AUROC", "classes"): lambda case: roc_auc_score(*_detected(case)),
    ("AUROC", "reals"): lambda case: roc_auc_score(*_detected(case)),
    ("FPR95", "classes"): _fpr95,
    ("FPR95", "reals"): _fpr95,
}
CASES = {"classes": classes, "reals": reals}
