"""One mode against many: what approximations of a posterior gain from several modes.

quick is an MLP on digits, and gpu is LeNet on Fashion-MNIST; gpu also asks about ResNet-18 on CIFAR-100 and
on Tiny ImageNet, as in the paper, if their files are in the data folder (`studies/modes/further.py`).

Reference: Laurent, Aldea & Franchi (2024), A symmetry-aware exploration of Bayesian neural network
posteriors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from symbayes.studies.modes.collapse import Collapse
from symbayes.studies.modes.correlation import Correlation
from symbayes.studies.modes.further import there
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
        found: dict[str, Part] = {
            "predictions": Predictions(sizes.settings, sizes.methods),
            "weights": Weights(sizes.settings, sizes.compared, sizes.fleet),
            "correlation": Correlation(sizes.settings, sizes.varied, sizes.factors, sizes.seeds, sizes.fleet),
            "collapse": Collapse(sizes.small, sizes.many),
        }
        for one in there() if self.preset == "gpu" else ():
            found |= {
                f"{one.settings.name}.predictions": Predictions(one.settings, one.methods),
                f"{one.settings.name}.weights": Weights(one.settings, one.methods, one.fleet, runs=""),
            }
        return found

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
        for name, part in self.parts().items():
            if name.endswith(".predictions") and name in found:
                told.append(f"{part.of}: {gained(found[name])}")
        return " ".join(told)
