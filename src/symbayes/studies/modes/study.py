"""One mode against many: what approximations of a posterior gain from several modes.

Reference: Laurent, Aldea & Franchi (2024), A symmetry-aware exploration of Bayesian neural network
posteriors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from symbayes.studies.modes.predictions import Predictions
from symbayes.studies.modes.presets import SETTINGS
from symbayes.studies.modes.published import SOURCE
from symbayes.studies.modes.weights import Weights
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
        settings = SETTINGS[self.preset]
        return {"predictions": Predictions(settings), "weights": Weights(settings)}

    def answer(self, found: Mapping[str, Found]) -> str:
        return " ".join(part.answer(found[name]) for name, part in self.parts().items() if name in found)
