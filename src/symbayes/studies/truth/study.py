"""The questions of *What are Bayesian neural network posteriors really like?* (Izmailov et al. 2021).

The paper answers them with 512 TPUs; this study asks them about posteriors that one machine can draw from:
an MLP on digits (quick), and an MLP and LeNet on MNIST and Fashion-MNIST (gpu).

Reference: Izmailov, Vikram, Hoffman & Wilson (2021), What are Bayesian neural network posteriors really like?
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from symbayes.studies.part import Found, Part
from symbayes.studies.study import Study
from symbayes.studies.truth.averaging import Averaging
from symbayes.studies.truth.mixing import Mixing
from symbayes.studies.truth.presets import SETTINGS
from symbayes.studies.truth.prior import PriorChoice
from symbayes.studies.truth.published import SOURCE
from symbayes.studies.truth.samplers import CEILING, Samplers
from symbayes.studies.truth.shift import Shift
from symbayes.studies.truth.temperature import AugmentedTemperature, Temperature


@dataclass(frozen=True)
class Truth(Study):
    """What are Bayesian neural network posteriors really like?

    Example: symbayes study truth --preset quick
    """

    name: ClassVar[str] = "truth"
    title: ClassVar[str] = "What are Bayesian neural network posteriors really like?"
    source: ClassVar[str] = SOURCE

    def parts(self) -> Mapping[str, Part]:
        settings = SETTINGS[self.preset]
        alone = len(settings.cases) == 1
        found: dict[str, Part] = {}
        for case in settings.cases:
            first = "" if alone else f"{case.name}."
            found |= {
                f"{first}averaging": Averaging(case, alone),
                f"{first}mixing": Mixing(case, alone, settings.aligned_draws),
                f"{first}temperature": Temperature(case, alone, settings.temperatures),
                f"{first}augmentation": AugmentedTemperature(
                    case, alone, settings.augmented, settings.augmentation, settings.copies, settings.fresh
                ),
                f"{first}prior": PriorChoice(
                    case, alone, tuple(case.scale * wider for wider in settings.wider), settings.families
                ),
                f"{first}shift": Shift(case, alone, settings.shifts, settings.whitened, settings.shifted),
                f"{first}samplers": Samplers(case, alone),
            }
        return found

    def answer(self, found: Mapping[str, Found]) -> str:
        told = [*self._chains(found), *self._others(found)]
        parts = self.parts()
        return " ".join(told or [parts[name].answer(numbers) for name, numbers in found.items()])

    def _chains(self, found: Mapping[str, Found]) -> Iterator[str]:
        mixed = [bool(numbers["mixed"]) for name, numbers in found.items() if name.endswith("mixing")]
        cold = [_cold(numbers) for name, numbers in found.items() if name.endswith("temperature")]
        if mixed:
            yield f"The chains of HMC {_share(mixed, 'have')} mixed in the space of functions."
        if cold:
            yield f"A temperature below one {_share(cold, 'does')} give the lowest loss."

    def _others(self, found: Mapping[str, Found]) -> Iterator[str]:
        tables = [numbers["rows"] for name, numbers in found.items() if name.endswith("samplers")]
        if not tables:
            return
        best = [min(rows, key=lambda name, rows=rows: rows[name].get("NLL", 1e9)) for rows in tables]
        lowest, reached = [name == "hmc" for name in best], [_reaches(rows) for rows in tables]
        yield (
            f"HMC {_share(lowest, 'does')} predict better than all other methods, and one of them "
            f"{_share(reached, 'does')} come as close to it as one half of the HMC chains to the other half."
        )


def _share(answers: Sequence[bool], verb: str) -> str:
    """Whether something holds, in words: for one posterior, or the number of posteriors for several."""
    if len(answers) == 1:
        return verb if answers[0] else f"{verb} not"
    return f"{verb} on {sum(answers)} of {len(answers)} posteriors"


def _cold(numbers: Found) -> bool:
    rows = numbers["temperatures"]
    return float(min(rows, key=lambda key: rows[key]["NLL"])) < 1


def _reaches(rows: Mapping[str, Mapping[str, float]]) -> bool:
    ceiling = rows.get(CEILING, {}).get("TV", 0.0)
    return any(row.get("TV", 1.0) <= ceiling for name, row in rows.items() if name not in ("hmc", CEILING))
