"""Twins of conformal sets and intervals: loops over classes, and the rank counted."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from symbayes.posterior import Predictive

from .cases import Case, Oracle, mean_probs, normals


def _score(form: str, p: np.ndarray, label: int) -> float:
    if form == "conformal":
        return 1 - p[label]
    before = sorted(range(len(p)), key=lambda c: (-p[c], c))
    rank = before.index(label) + 1
    total = 0.0
    for c in before[:rank]:
        total += p[c]
    return total + (0.01 * max(0, rank - 5) if form == "RAPS" else 0.0)


def _threshold(scores: list[float]) -> float:
    """The smallest score with enough others at or below it."""
    wanted = math.ceil((len(scores) + 1) * 9 / 10)
    enough = [s for s in scores if sum(other <= s for other in scores) >= wanted]
    return min(enough, default=math.inf)


def _sets(case: Case, form: str) -> list[list[int]]:
    held_out, labels = case.validation
    scores = [_score(form, p, y) for p, y in zip(mean_probs(held_out), labels.reshape(-1), strict=True)]
    limit = _threshold(scores)
    return [
        [c for c in range(len(p)) if _score(form, p, c) <= limit or c == p.argmax()]
        for p in mean_probs(case.predictive)
    ]


def _coverage(case: Case, form: str) -> float:
    pairs = zip(_sets(case, form), case.y.reshape(-1), strict=True)
    return float(np.mean([label in found for found, label in pairs]))


def _ends(predictive: Predictive) -> list[tuple[float, float]]:
    return [
        tuple(
            brentq(lambda v, p=p, m=m, w=w: norm.cdf(v, m, w).mean() - p, -1e3, 1e3, xtol=1e-12)
            for p in (0.05, 0.95)
        )
        for point in normals(predictive)
        for m, w in point
    ]


def _intervals(case: Case) -> list[tuple[float, float]]:
    held_out, targets = case.validation
    pairs = zip(_ends(held_out), targets.reshape(-1), strict=True)
    margin = _threshold([max(low - y, y - high) for (low, high), y in pairs])
    moved = [(low - margin, high + margin) for low, high in _ends(case.predictive)]
    return [(low, high) if low <= high else ((low + high) / 2,) * 2 for low, high in moved]


def _interval_coverage(case: Case) -> float:
    pairs = zip(_intervals(case), case.y.reshape(-1), strict=True)
    return float(np.mean([low <= y <= high for (low, high), y in pairs]))


OF_CONFORMAL: dict[tuple[str, str], Oracle] = {
    **{
        (f"{form}-coverage", "classes"): lambda case, form=form: _coverage(case, form)
        for form in ("conformal", "APS", "RAPS")
    },
    **{
        (f"{form}-size", "classes"): lambda case, form=form: float(
            np.mean([len(s) for s in _sets(case, form)])
        )
        for form in ("conformal", "APS", "RAPS")
    },
    ("conformal-coverage", "reals"): _interval_coverage,
    ("conformal-width", "reals"): lambda case: float(np.mean([high - low for low, high in _intervals(case)])),
}
