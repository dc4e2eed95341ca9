"""Twins of the scores of real targets."""

import math

import numpy as np
from scipy.integrate import simpson
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
    pairs = zip(_ends(case), case.y.reshape(-1), strict=True)
    return float(np.mean([low <= target <= high for (low, high), target in pairs]))


def _crps(case: Case) -> float:
    """The integral of the squared gap between distribution function and step, on both sides of the step."""
    found = []
    flat = [one for point in normals(case.predictive) for one in point]
    for (m, w), target in zip(flat, case.y.reshape(-1), strict=True):
        low, high = min(m.min(), target) - 12, max(m.max(), target) + 12

        def cdf(v: np.ndarray, m: np.ndarray = m, w: np.ndarray = w) -> np.ndarray:
            return norm.cdf(v[:, None], m, w).mean(axis=1)

        below, above = np.linspace(low, target, 4001), np.linspace(target, high, 4001)
        found.append(simpson(cdf(below) ** 2, x=below) + simpson((1 - cdf(above)) ** 2, x=above))
    return float(np.mean(found))


def _ends(case: Case) -> list[tuple[float, float]]:
    return [
        tuple(
            brentq(lambda v, p=p, m=m, w=w: norm.cdf(v, m, w).mean() - p, -1e3, 1e3, xtol=1e-12)
            for p in (0.05, 0.95)
        )
        for point in normals(case.predictive)
        for m, w in point
    ]


def _quantile_error(case: Case) -> float:
    flat = [one for point in normals(case.predictive) for one in point]
    below = [norm.cdf(t, m, w).mean() for (m, w), t in zip(flat, case.y.reshape(-1), strict=True)]
    return float(np.mean([abs(np.mean([b <= q / 100 for b in below]) - q / 100) for q in range(1, 100)]))


def _sd(case: Case, noise: bool, means: bool) -> float:
    squares = [
        noise * np.mean(w**2) + means * np.var(m) for point in normals(case.predictive) for m, w in point
    ]
    return math.sqrt(np.mean(squares))


OF_REALS: dict[tuple[str, str], Oracle] = {
    ("RMSE", "reals"): _rmse,
    ("NLL", "reals"): _mixture_nll,
    ("coverage", "reals"): _coverage,
    ("CRPS", "reals"): _crps,
    ("width", "reals"): lambda case: float(np.mean([high - low for low, high in _ends(case)])),
    ("quantile-error", "reals"): _quantile_error,
    ("total-sd", "reals"): lambda case: _sd(case, True, True),
    ("aleatoric-sd", "reals"): lambda case: _sd(case, True, False),
    ("epistemic-sd", "reals"): lambda case: _sd(case, False, True),
}
