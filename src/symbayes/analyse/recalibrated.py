"""Recalibration of a predictive of classes: fitted on one set of examples, applied at other inputs.

The mean over draws is recalibrated, so that the whole predictive is calibrated; the result has one prediction
for each example, and no longer those of every draw.
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
    """A map of probabilities, fitted to the predictive at validation inputs."""

    name: str
    map: ProbabilityMap

    @classmethod
    def fit(cls, name: str, predictive: Predictive, y: Any) -> Recalibration:
        """Fit the map with this name (temperature, vector, dirichlet, isotonic) on validation data."""
        require(
            predictive.kind == "classes",
            f"recalibration by {name} is for classes; for real targets see the metric conformal-coverage",
        )
        return cls(name, fit_map(name, predictive.mean, np.asarray(y)))

    def apply(self, predictive: Predictive) -> CategoricalPredictive:
        """The predictive at other inputs, with its mean recalibrated."""
        energies = predictive.arrays.get("energies")
        return CategoricalPredictive(
            self.map.apply(predictive.mean)[None, None],
            None if energies is None else energies.mean(axis=(0, 1), keepdims=True),
        )
