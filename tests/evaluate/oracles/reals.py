"""Twins of the scores of real targets."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.metrics import mean_squared_error

from .cases import Case, Oracle, normals


def _rmse(case: Case) -> float:
    means = [m.mean() for point in normals(case.predictive) for m, _ in point]
    return math.sqrt(mean_squared_error(case.y.reshape(-1), means))


def _mixture_nll(case: Case) -> float:
    points = normals(case.predictive)
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
    flat = [one for point in normals(case.predictive) for one in point]
    for (m, w), target in zip(flat, case.y.reshape(-1), strict=True):
        low, high = (
            brentq(lambda v, p=p, m=m, w=w: norm.cdf(v, m, w).mean() - p, -1e3, 1e3, xtol=1e-12)
            for p in (0.05, 0.95)
        )
        inside.append(low <= target <= high)
    return float(np.mean(inside))


OF_REALS: dict[tuple[str, str], Oracle] = {
    ("RMSE", "reals"): _rmse,
    ("NLL", "reals"): _mixture_nll,
    ("coverage", "reals"): _coverage,
}
