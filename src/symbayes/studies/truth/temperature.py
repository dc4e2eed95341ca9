"""Whether a posterior at a temperature below one predicts better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from symbayes.methods import HMC
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found
from symbayes.studies.truth.case import Asked, gap, scores

STANDARD_ERRORS = 2.0
"""A difference in loss counts if it is larger than this many standard errors."""


@dataclass(frozen=True)
class Temperature(Asked):
    """The same HMC at several temperatures of prior and likelihood together."""

    question: ClassVar[str] = "Does a cold posterior predict better?"
    published: ClassVar[str] = (
        "There is little evidence of a cold-posterior effect without data augmentation; tempering is not "
        "needed."
    )

    temperatures: tuple[float, ...]
    augmentation: tuple[str, ...] = ()
    copies: int = 1

    def work(self, desk: Desk) -> Found:
        test = self.case.dataset().test
        warm = None
        found: dict[str, Any] = {}
        # One first: the others are compared with it, on the same test examples.
        for temperature in sorted(self.temperatures, key=lambda t: t != 1):
            name = "-".join([*self.augmentation, f"temperature-{temperature:g}"])
            posterior = self.case.posterior(None, temperature, self.augmentation, self.copies)
            run = self.case.drawn(desk, name, self._method(temperature), posterior)
            predictive = run.predict(test.x)
            warm = predictive if warm is None else warm
            found[f"{temperature:g}"] = {
                **scores(predictive, test.y),
                **gap(predictive, warm, test.y),
                "acceptance": float(run.draws.stats["acceptance"].mean()),
            }
        return {"temperatures": {key: found[key] for key in sorted(found, key=float)}}

    def _method(self, temperature: float) -> HMC:
        return self.case.swept(temperature)

    def answer(self, found: Found) -> str:
        rows = found["temperatures"]
        best = min(rows, key=lambda key: rows[key]["NLL"])
        told = (
            f"The loss is lowest at temperature {best} ({rows[best]['NLL']:.3f} nats; {rows['1']['NLL']:.3f} "
            "at 1)"
        )
        if best == "1":
            return f"{told}: there is no cold-posterior effect."
        clear = -rows[best]["difference"] > STANDARD_ERRORS * rows[best]["error"]
        if not clear:
            return f"{told}, within two standard errors: there is no clear cold-posterior effect."
        effect = "cold-posterior" if float(best) < 1 else "warm-posterior"
        return f"{told}, by more than two standard errors: there is a {effect} effect."

    @property
    def _augmented(self) -> str:
        return ", with augmentation" if self.augmentation else ""

    def show(self, found: Found) -> list[Table | Figure]:
        rows = found["temperatures"]
        t = np.array([float(key) for key in rows])
        columns = {"accuracy": ".1%", "NLL": ".3f", "ECE": ".3f", "difference": "+.3f", "error": ".3f"}
        columns |= {"acceptance": ".0%"}
        table: list[Any] = [[float(key), *(row[name] for name in columns)] for key, row in rows.items()]
        return [
            figures.curves(
                {"HMC": (t, np.array([row["NLL"] for row in rows.values()]))},
                "temperature",
                "loss (nats)",
                f"Loss against temperature{self.titled}{self._augmented}",
                "Temperature 1 is the Bayes posterior. A minimum to its left is a cold-posterior effect.",
                log_x=True,
            ),
            Table(
                ["temperature", *columns],
                table,
                f"Temperature of prior and likelihood together{self.titled}{self._augmented}. The "
                "difference in "
                "loss is to temperature one, with its standard error over test examples.",
                columns,
                best={"accuracy": "higher", "NLL": "lower", "ECE": "lower"},
            ),
        ]


@dataclass(frozen=True)
class AugmentedTemperature(Temperature):
    """The same with augmented images: K fixed copies of each, whose log likelihoods have the weight 1/K."""

    question: ClassVar[str] = "Does data augmentation make a cold posterior better?"
    published: ClassVar[str] = (
        "The cold-posterior effect is largely an artefact of data augmentation: with it, colder posteriors "
        "predict better."
    )

    def _method(self, temperature: float) -> HMC:
        """A shorter run, since copies are made anew for every gradient."""
        method = super()._method(temperature)
        few = {"burn_in": 20, "draws": 30, "chains": 2}
        return replace(method, **{name: min(most, getattr(method, name)) for name, most in few.items()})

    def answer(self, found: Found) -> str:
        words = f"{' and '.join(self.augmentation)}, {self.copies} copies of every image"
        return f"With augmentation ({words}): {_lowered(super().answer(found))}"


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
