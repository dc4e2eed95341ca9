"""The spread of weights over draws: cosine of two draws, sigma of each weight, and R-hat."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Real

from symbayes import evaluate
from symbayes.brief import briefly
from symbayes.draws import Draws
from symbayes.draws.columns import some_weights
from symbayes.specs import Record

STILL = 1e-4
"""A weight whose sigma is below this share of the largest hardly moves."""
FEWEST_FOR_RHAT = 4


@briefly
@dataclass(frozen=True)
class Spread:
    """The spread of weights over the draws of all chains.

    Attributes:
        cosine: mean inner product over pairs of draws, divided by the mean squared norm.
        sigma: standard deviation of each weight that moves at all.
        still: the number of weights that do not move.
        rhat: rank-normalised split R-hat of each weight; None where chains are too short or there is one.
    """

    cosine: float
    sigma: np.ndarray
    still: int
    rhat: np.ndarray | None

    @classmethod
    def of(cls, draws: Draws, most: int) -> Spread:
        """The spread of at most `most` weights."""
        weights = some_weights(draws, most)
        chains, count = weights.shape[0], weights.shape[0] * weights.shape[1]
        flat = weights.reshape(count, -1).astype(np.float64)
        squares = np.sum(flat**2)
        pairs = (np.sum(flat.sum(0) ** 2) - squares) / (count - 1)
        defined = chains > 1 and weights.shape[1] >= FEWEST_FOR_RHAT
        sigma = moving(flat.std(0, ddof=1))
        rhat = evaluate.rhat(weights) if defined else None
        return cls(float(pairs / squares), sigma, flat.shape[1] - sigma.size, rhat)

    @property
    def median_sigma(self) -> float:
        return float(np.median(self.sigma)) if self.sigma.size else math.nan

    def numbers(self) -> Record:
        found = {"cosine": self.cosine, "sigma": _quantiles(self.sigma), "still": self.still}
        if self.rhat is not None:
            found["rhat"] = _quantiles(self.rhat) | {"share_below_1.1": float(np.mean(self.rhat < 1.1))}
        return found


def moving(sigma: Real[np.ndarray, " weight"]) -> Real[np.ndarray, " _moving"]:
    """The sigmas of those weights that move at all."""
    return sigma[sigma > STILL * sigma.max(initial=0.0)]


def _quantiles(values: np.ndarray) -> dict[str, float]:
    known = values[~np.isnan(values)]
    if known.size == 0:
        return {}
    levels = {"5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95}
    return {name: float(np.quantile(known, level)) for name, level in levels.items()} | {
        "largest": float(known.max())
    }
