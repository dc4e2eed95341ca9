"""The log evidence, from draws at a ladder of temperatures.

The evidence ``p(D)`` is the integral of ``p(D | w) p(w)``.  With the likelihood to the power ``b`` from 0
(the prior) to 1 (the posterior), and ``E_b`` and ``V_b`` the mean and variance of the log likelihood under
``p(D | w)^b p(w) / Z_b``,

    log p(D) = integral_0^1 E_b d b,        d E_b / (d b) = V_b

(thermodynamic integration; Gelman and Meng 1998).  Between rungs ``b`` and ``b'`` the integral is taken by
the trapezium rule with the correction ``- (b' - b)^2 (V_{b'} - V_b) / 12`` (Friel, Hurn and Wyse 2014).
Stepping stones (Xie et al. 2011) estimate the same as the sum over rungs of
``log mean_b exp((b' - b) log p(D | w))``, each from the draws of the rung below.  Where the two differ by
more than their errors, there are too few rungs or draws.

Both count every copy of a mode: symmetries change the weights of draws, and not their likelihood.  An
estimate at one mode, such as Laplace's or that of a variational posterior, counts one of the copies; with
``K`` copies that hardly overlap, ``log K`` is to be added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from symbayes.evaluate.convergence import ess_bulk
from symbayes.evaluate.inputs import finite

POWER = 5
FEWEST_FOR_ESS = 4


@dataclass(frozen=True)
class Evidence:
    """The log evidence in nats, and its Monte-Carlo standard error.

    `correction` is what the second-order term changed: if it is not small, take more rungs.
    """

    log_evidence: float
    error: float
    correction: float = 0.0


@dataclass(frozen=True)
class Rungs:
    """The log likelihood over all data along a ladder, each (rungs,).

    Attributes:
        powers: of the likelihood, rising from 0 to 1.
        means: the integrand, whose area over the powers is the log evidence.
        variances: its slope.
        errors: Monte-Carlo standard errors of the means.
    """

    powers: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    errors: np.ndarray


def ladder(rungs: int) -> np.ndarray:
    """Powers of the likelihood from 0 to 1, denser towards the prior: (i / n)^5 (Friel and Pettitt 2008)."""
    if rungs < 2:
        raise ValueError(f"a ladder has at least two rungs, the prior and the posterior, not {rungs}.")
    return np.linspace(0, 1, rungs) ** POWER


def rungs(powers: ArrayLike, log_likelihoods: Sequence[ArrayLike]) -> Rungs:
    """From draws' log likelihoods over all data, (chain, draw) for each power, rising from 0 to 1."""
    b, values = _rungs(powers, log_likelihoods)
    return Rungs(
        b,
        np.array([each.mean() for each in values]),
        np.array([each.var(ddof=1) for each in values]),
        np.array([_error(each) for each in values]),
    )


def thermodynamic_integration(powers: ArrayLike, log_likelihoods: Sequence[ArrayLike]) -> Evidence:
    """The area under the means of the same `rungs`, by the corrected trapezium rule."""
    found = rungs(powers, log_likelihoods)
    steps, means = np.diff(found.powers), found.means
    correction = -float(np.sum(steps**2 / 12 * np.diff(found.variances)))
    total = float(np.sum(steps * (means[1:] + means[:-1]) / 2)) + correction
    shares = np.concatenate([steps, [0]]) / 2 + np.concatenate([[0], steps]) / 2
    return Evidence(total, float(np.sqrt(np.sum((shares * found.errors) ** 2))), correction)


def stepping_stones(powers: ArrayLike, log_likelihoods: Sequence[ArrayLike]) -> Evidence:
    """From the same; the error is that of the logarithm of a mean, to first order."""
    b, values = _rungs(powers, log_likelihoods)
    total, squares = 0.0, 0.0
    for step, each in zip(np.diff(b), values[:-1], strict=True):
        log_mean = float(np.asarray(logsumexp(step * each))) - math.log(each.size)
        total += log_mean
        squares += _error(np.exp(step * each - log_mean)) ** 2
    return Evidence(total, math.sqrt(squares))


def laplace_evidence(log_joint: float, hessian: ArrayLike) -> float:
    """Laplace's estimate at a mode: ``log p(D, w) + d/2 log 2 pi - 1/2 log det H`` with H of -log p(D, w)."""
    h = finite(hessian, "hessian")
    if h.ndim != 2 or h.shape[0] != h.shape[1]:
        raise ValueError(f"hessian is (d, d), not {h.shape}.")
    sign, log_det = np.linalg.slogdet(h)
    if sign <= 0 or np.linalg.eigvalsh(h)[0] <= 0:
        raise ValueError("the Hessian is not positive definite: this is not a mode, so find it first.")
    return float(log_joint) + 0.5 * (len(h) * math.log(2 * math.pi) - float(log_det))


def _rungs(powers: ArrayLike, log_likelihoods: Sequence[ArrayLike]) -> tuple[np.ndarray, list[np.ndarray]]:
    b = finite(powers, "powers")
    if b.ndim != 1 or len(b) != len(log_likelihoods) or len(b) < 2:
        raise ValueError(
            f"powers has one number for each of log_likelihoods, two or more, but they are {b.shape} "
            f"and {len(log_likelihoods)}."
        )
    if b[0] != 0 or b[-1] != 1 or np.any(np.diff(b) <= 0):
        raise ValueError(f"powers rise from 0, the prior, to 1, the posterior, not {b.tolist()}.")
    values = [finite(each, "log_likelihoods") for each in log_likelihoods]
    for each in values:
        if each.ndim != 2 or each.size < 2:
            raise ValueError(f"log_likelihoods are (chain, draw) with two draws or more, not {each.shape}.")
    return b, values


def _error(values: np.ndarray) -> float:
    """The standard error of the mean of (chain, draw), by the effective sample size where it is known."""
    effective = float(values.size)
    if values.shape[1] >= FEWEST_FOR_ESS and np.ptp(values) > 0:
        found = float(np.asarray(ess_bulk(values[..., None]))[0])
        effective = min(effective, found) if np.isfinite(found) else effective
    return float(values.std(ddof=1) / math.sqrt(effective))
