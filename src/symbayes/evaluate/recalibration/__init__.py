"""Predictions made right on validation data: maps of probabilities, conformal sets and intervals.

Everything here is fitted on validation examples, never on those of the test.
"""

from symbayes.evaluate.recalibration.conformal import (
    ConformalIntervals,
    ConformalSets,
    conformal_quantile,
)
from symbayes.evaluate.recalibration.isotonic import Isotonic
from symbayes.evaluate.recalibration.maps import MAPS, ProbabilityMap, fit_map
from symbayes.evaluate.recalibration.scaling import DirichletScaling, TemperatureScaling, VectorScaling

__all__ = [
    "MAPS",
    "ConformalIntervals",
    "ConformalSets",
    "DirichletScaling",
    "Isotonic",
    "ProbabilityMap",
    "TemperatureScaling",
    "VectorScaling",
    "conformal_quantile",
    "fit_map",
]
