"""Whether chains have mixed, in weights and in functions.

Networks with permuted neurons are different points in weight space and the same point in function space, so
the two answers may differ.  R-hat and effective sample sizes are those of Vehtari et al. (2021).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from symbayes import evaluate
from symbayes.brief import briefly
from symbayes.draws.columns import some_columns, some_weights
from symbayes.engine import Source, open_run
from symbayes.posterior import Predictive
from symbayes.specs import require, require_counts

FEWEST_DRAWS = 4
MOST = 5000
GOOD = 1.1


@briefly
@dataclass(frozen=True, eq=False)
class Mixing:
    """Rank-normalised split R-hat and effective sample sizes of quantities, (chain, draw, quantity)."""

    values: np.ndarray

    @functools.cached_property
    def rhat(self) -> np.ndarray:
        """R-hat of every quantity; nan for one that never changes."""
        return evaluate.rhat(self.values)

    @functools.cached_property
    def ess_bulk(self) -> np.ndarray:
        return evaluate.ess_bulk(self.values)

    @functools.cached_property
    def ess_tail(self) -> np.ndarray:
        return evaluate.ess_tail(self.values)

    def numbers(self) -> dict[str, float]:
        """Medians, the largest R-hat, and the share of R-hats below 1.1, over all quantities that change."""
        finite = self.rhat[~np.isnan(self.rhat)]
        if finite.size == 0:
            return dict.fromkeys(FORMATS, float("nan"))
        return {
            "R-hat, median": float(np.median(finite)),
            "R-hat, largest": float(finite.max()),
            "below 1.1": float(np.mean(finite < GOOD)),
            "ESS bulk, median": float(np.nanmedian(self.ess_bulk)),
            "ESS tail, median": float(np.nanmedian(self.ess_tail)),
        }


FORMATS = {
    "R-hat, median": ".3f",
    "R-hat, largest": ".3f",
    "below 1.1": ".1%",
    "ESS bulk, median": ".0f",
    "ESS tail, median": ".0f",
}
"""The numbers of `Mixing.numbers`, and their formats."""


def mixing(run: Source, predictive: Predictive | None = None, most: int = MOST) -> dict[str, Mixing]:
    """The mixing of a run in its weights and, with its predictive at some inputs, in its predictions.

    At most `most` weights and `most` predictions are used, chosen at random, the same every time.  The result
    is empty where chains cannot be compared: there is only one, or they have fewer than four draws.
    """
    require_counts(most=most)
    draws = open_run(run).draws
    if draws.chains < 2 or len(draws) < FEWEST_DRAWS:
        return {}
    found = {"weights": Mixing(some_weights(draws, most))}
    if predictive is not None:
        same = predictive.every.shape[:2] == (draws.chains, len(draws))
        require(
            same,
            f"the predictive has {predictive.every.shape[:2]} chains and draws, but the run "
            f"has {(draws.chains, len(draws))}: give the predictive of the same run",
        )
        found["predictions"] = Mixing(some_columns(predictive.quantities, most))
    return found
