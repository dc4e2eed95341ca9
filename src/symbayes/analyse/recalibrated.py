"""A predictive of classes, recalibrated: fitted on one set of examples, applied to the predictive at others.

The mean over draws is what is changed, so that the whole predictive is calibrated; what comes out says one
thing for each example, and no longer what every draw says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbayes.evaluate.recalibration import ProbabilityMap, fit_map
from symbayes.posterior import CategoricalPredictive, Predictive
from symbayes.specs import require


@dataclass(frozen=True)
class Recalibration:
    """A map of probabilities that was fitted to the predictive at validation inputs."""

    name: str
    map: ProbabilityMap

    @classmethod
    def fit(cls, name: str, predictive: Predictive, y: Any) -> Recalibration:
        """By the name of the map (temperature, vector, dirichlet, isotonic), on validation data."""
        require(
            predictive.kind == "classes",
            f"recalibration by {name} is for classes; for real targets see the metric conformal-coverage",
        )
        return cls(name, fit_map(name, predictive.mean, np.asarray(y)))

    def apply(self, predictive: Predictive) -> CategoricalPredictive:
        """The predictive at other inputs, its mean changed."""
        energies = predictive.arrays.get("energies")
        return CategoricalPredictive(
            self.map.apply(predictive.mean)[None, None],
            None if energies is None else energies.mean(axis=(0, 1), keepdims=True),
        )
