"""One mode against many: what approximations of a posterior gain from several modes.

Reference: Laurent, Aldea & Franchi (2024), A symmetry-aware exploration of Bayesian neural network
posteriors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from symbayes.studies.modes.collapse import Collapse
from symbayes.studies.modes.correlation import Correlation
from symbayes.studies.modes.predictions import Predictions, gained
from symbayes.studies.modes.presets import SIZES
from symbayes.studies.modes.published import SOURCE
from symbayes.studies.modes.weights import Weights, nearer
from symbayes.studies.part import Found, Part
from symbayes.studies.study import Study


@dataclass(frozen=True)
class Modes(Study):
    """What do many modes add to one?

    Example: symbayes study modes --preset quick
    """

    name: ClassVar[str] = "modes"
    title: ClassVar[str] = "One mode of the posterior, or many?"
    source: ClassVar[str] = SOURCE

    def parts(self) -> Mapping[str, Part]:
        sizes = SIZES[self.preset]
        return {
            "predictions": Predictions(sizes.settings, sizes.methods),
            "weights": Weights(sizes.settings, sizes.compared, sizes.fleet),
            "correlation": Correlation(sizes.settings, sizes.varied, sizes.factors, sizes.seeds, sizes.fleet),
            "collapse": Collapse(sizes.small, sizes.many),
        }

    def answer(self, found: Mapping[str, Found]) -> str:
        told = []
        if "predictions" in found:
            told.append(gained(found["predictions"]))
        if "weights" in found:
            told.append(nearer(found["weights"]))
        if "correlation" in found:
            told.append(self.parts()["correlation"].answer(found["correlation"]))
        if "collapse" in found and not told:
            told.append(self.parts()["collapse"].answer(found["collapse"]))
        return " ".join(told)
