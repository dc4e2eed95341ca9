"""The maps of probabilities by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.recalibration.isotonic import Isotonic
from symbayes.evaluate.recalibration.scaling import DirichletScaling, TemperatureScaling, VectorScaling
from symbayes.specs import did_you_mean


@runtime_checkable
class ProbabilityMap(Protocol):
    """A frozen dataclass that was fitted, and that changes probabilities."""

    @classmethod
    def fit(cls, probs: ArrayLike, y: ArrayLike) -> ProbabilityMap:
        """From mean probabilities (n, ..., k) at validation inputs, and their labels (n, ...)."""
        ...

    def apply(self, probs: ArrayLike) -> np.ndarray:
        """Probabilities (..., k), changed."""
        ...

    @property
    def words(self) -> str:
        """What was found, in a few words."""
        ...


MAPS: Mapping[str, type[ProbabilityMap]] = {
    "temperature": TemperatureScaling,
    "vector": VectorScaling,
    "dirichlet": DirichletScaling,
    "isotonic": Isotonic,
}


def fit_map(name: str, probs: ArrayLike, y: ArrayLike) -> ProbabilityMap:
    """The map of this name, fitted to mean probabilities and labels of validation examples."""
    if name not in MAPS:
        hint = did_you_mean(name, MAPS)
        raise ValueError(f"no recalibration is called {name!r}{hint}; there are {', '.join(MAPS)}")
    return MAPS[name].fit(probs, y)
