"""Twins of the calibration errors of classes: loops over points, and integrals by quadrature."""

import math

import numpy as np
from scipy.integrate import trapezoid
from scipy.optimize import brentq
from scipy.stats import norm

from .cases import Case, Oracle, labels, mean_probs


def _ece(case: Case) -> float:
    p, truth = mean_probs(case.predictive), labels(case)
    total, bins = 0.0, 15
    for b in range(bins):
        chosen = [
            i
            for i in range(len(p))
            if b / bins < p[i].max() <= (b + 1) / bins or (b == 14 and p[i].max() > 1)
        ]
        if chosen:
            hits = np.mean([p[i].argmax() == truth[i] for i in chosen])
            total += len(chosen) / len(p) * abs(hits - np.mean([p[i].max() for i in chosen]))
    return total


def _equal_mass(score: np.ndarray, hit: np.ndarray, bins: int = 15) -> list[tuple[float, float, int]]:
    """Hit rate, mean score and size of each bin: equal scores share their hits, and sizes differ by one."""
    shared = np.array([np.mean([h for s, h in zip(score, hit, strict=True) if s == own]) for own in score])
    order = sorted(range(len(score)), key=lambda i: score[i])
    parts = np.array_split(np.array(order), min(bins, len(score)))
    return [(np.mean(shared[part]), np.mean(score[part]), len(part)) for part in parts]


def _top(case: Case) -> tuple[np.ndarray, np.ndarray]:
    p = mean_probs(case.predictive)
    return p.max(axis=1), (p.argmax(axis=1) == labels(case)).astype(float)


def _ace(case: Case) -> float:
    return float(np.mean([abs(rate - stated) for rate, stated, _ in _equal_mass(*_top(case))]))


def _classwise_ace(case: Case) -> float:
    p = mean_probs(case.predictive)
    bins = [_equal_mass(p[:, c], (labels(case) == c).astype(float)) for c in range(p.shape[1])]
    return float(np.mean([[abs(rate - stated) for rate, stated, _ in each] for each in bins]))


def _debiased(case: Case) -> float:
    total, n = 0.0, len(labels(case))
    for rate, stated, size in _equal_mass(*_top(case)):
        bias = rate * (1 - rate) / (size - 1) if size > 1 else 0.0
        total += size / n * ((rate - stated) ** 2 - bias)
    return math.sqrt(total) if total > 0 else 0.0


def _smooth(case: Case) -> float:
    """The reflected kernel as a sum over mirror images, the integral by the trapezoidal rule."""
    confidence, hit = _top(case)
    if np.abs([(hit - confidence)[confidence == c].sum() for c in confidence]).max() < 1e-12:
        return 0.0
    images = np.concatenate([side * confidence + 2 * turn for turn in range(-3, 4) for side in (1, -1)])
    residuals = np.tile(hit - confidence, 14) / len(hit)

    def error(width: float) -> float:
        t = np.linspace(0, 1, 2001)
        smoothed = sum(r * norm.pdf(t, c, width) for r, c in zip(residuals, images, strict=True))
        return float(trapezoid(np.abs(smoothed), t))

    return brentq(lambda width: error(width) - width, 2e-3, 1.0) if error(2e-3) > 2e-3 else 0.0


def _brier_parts(case: Case) -> tuple[float, float, float]:
    """Reliability by its definition; resolution as what is left of the score; uncertainty as the variance."""
    p, truth = mean_probs(case.predictive), labels(case)
    reliability = uncertainty = score = 0.0
    for c in range(p.shape[1]):
        hit = (truth == c).astype(float)
        bins = [next((b for b in range(14) if q <= (b + 1) / 15), 14) for q in p[:, c]]
        for b in set(bins):
            inside = [i for i in range(len(p)) if bins[i] == b]
            reliability += len(inside) / len(p) * (np.mean(p[inside, c]) - np.mean(hit[inside])) ** 2
        uncertainty += np.var(hit)
        score += np.mean((p[:, c] - hit) ** 2)
    return reliability, reliability + uncertainty - score, uncertainty


OF_CALIBRATION: dict[tuple[str, str], Oracle] = {
    ("ECE", "classes"): _ece,
    ("ACE", "classes"): _ace,
    ("classwise-ACE", "classes"): _classwise_ace,
    ("debiased-CE", "classes"): _debiased,
    ("smooth-ECE", "classes"): _smooth,
    ("Brier-reliability", "classes"): lambda case: _brier_parts(case)[0],
    ("Brier-resolution", "classes"): lambda case: _brier_parts(case)[1],
    ("Brier-uncertainty", "classes"): lambda case: _brier_parts(case)[2],
}
