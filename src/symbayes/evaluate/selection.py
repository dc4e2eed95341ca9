"""Selective prediction: the loss that remains if the points of which a predictive is least sure are left out.

Points are kept in the order of their doubt, the surest first.  After ``i`` of ``n`` points the coverage is
``i / n``; the selective risk ``r_i`` is the mean loss of the points kept, and the generalised risk ``g_i``
their summed loss over ``n``.  Points with equal doubt share their mean loss, so that the order of the data
does not matter.

    AURC = 1/n sum_i r_i                                                    (Geifman et al. 2019)
    AUGRC = area under the generalised risk g_i over the coverage           (Traub et al. 2024)

AUGRC is ``(1 - AUROC) a (1 - a) + (1 - a)^2 / 2``, where ``a`` is the accuracy and AUROC that of
distinguishing hits from errors by the doubt.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.calibration import shared_rate, top_label
from symbayes.evaluate.inputs import finite

RISK = 0.05
"""The share of errors among the points kept that is allowed by default."""


@dataclass(frozen=True)
class RiskCoverage:
    """Both risks after each number of points, each (n,).

    Attributes:
        coverage: share of the points kept, from 1/n to 1.
        risk: mean loss of the points kept.
        generalised: summed loss of the points kept, over all n.
        last: whether points with the same doubt end here; only there a threshold can lie.
    """

    coverage: np.ndarray
    risk: np.ndarray
    generalised: np.ndarray
    last: np.ndarray


def risk_coverage(doubt: ArrayLike, losses: ArrayLike) -> RiskCoverage:
    """The curve of points with these doubts and losses, each (n,); of an error the loss is 1, of a hit 0."""
    score, loss = finite(doubt, "doubt"), finite(losses, "losses")
    if score.ndim != 1 or score.shape != loss.shape:
        raise ValueError(
            f"doubt and losses must have one shape (n,), but have {score.shape} and {loss.shape}."
        )
    order, n = np.argsort(score), len(score)
    total, kept = np.cumsum(shared_rate(score, loss)[order]), np.arange(1, n + 1)
    last = np.append(np.diff(score[order]) > 0, True)
    return RiskCoverage(kept / n, total / kept, total / n, last)


def risk_coverage_of(probs: ArrayLike, y: ArrayLike) -> RiskCoverage:
    """The curve of errors, by one minus the largest probability as the doubt."""
    return _curve(*top_label(probs, y))


def _curve(confidence: np.ndarray, hit: np.ndarray) -> RiskCoverage:
    return risk_coverage(1 - confidence, ~hit)


def aurc(probs: ArrayLike, y: ArrayLike) -> float:
    """Mean over all coverages of the share of errors among the points kept."""
    return aurc_of(*top_label(probs, y))


def aurc_of(confidence: np.ndarray, hit: np.ndarray) -> float:
    """The same of confidences and hits (points,)."""
    return float(np.mean(_curve(confidence, hit).risk))


def augrc(probs: ArrayLike, y: ArrayLike) -> float:
    """Mean over all coverages of the share of points that are kept and wrong, by the trapezoidal rule."""
    return augrc_of(*top_label(probs, y))


def augrc_of(confidence: np.ndarray, hit: np.ndarray) -> float:
    """The same of confidences and hits (points,)."""
    risk = _curve(confidence, hit).generalised
    return float(np.mean(risk) - risk[-1] / (2 * len(risk)))


def coverage_at_risk(probs: ArrayLike, y: ArrayLike, risk: float = RISK) -> float:
    """The largest share of points that can be kept by a threshold with at most a share `risk` of errors."""
    return coverage_at_risk_of(*top_label(probs, y), risk)


def coverage_at_risk_of(confidence: np.ndarray, hit: np.ndarray, risk: float = RISK) -> float:
    """The same of confidences and hits (points,)."""
    if not 0 <= risk <= 1:
        raise ValueError(f"risk is a share from 0 to 1, not {risk}.")
    curve = _curve(confidence, hit)
    allowed = curve.last & (curve.risk <= risk + 1e-12)
    return float(curve.coverage[allowed].max(initial=0.0))
