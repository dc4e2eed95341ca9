"""Whether a posterior at a temperature below one predicts better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from symbayes.engine import Method
from symbayes.methods import HMC, SGHMC
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found
from symbayes.studies.truth.case import Asked, gap, scores

STANDARD_ERRORS = 2.0
"""A difference in loss counts if it is larger than this many standard errors."""

SWEEPS = ("temperatures", "mini-batches", "mini-batches, plain")
"""The sweeps of the part on augmentation, as they are called in its result."""

Rows = Mapping[str, Mapping[str, float]]
"""The scores at each temperature."""


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
        return {"temperatures": self._swept(desk, self.copies, self.case.swept)}

    def _swept(
        self, desk: Desk, copies: int, method: Callable[[float], Method], kind: str = ""
    ) -> dict[str, dict[str, float]]:
        """What the runs at all temperatures give, by temperature; `kind` is that of their names."""
        test = self.case.dataset().test
        warm = None
        found: dict[str, dict[str, float]] = {}
        # One first: the others are compared with it, on the same test examples.
        for temperature in sorted(self.temperatures, key=lambda t: t != 1):
            name = "-".join(filter(None, [*self.augmentation, kind, f"temperature-{temperature:g}"]))
            posterior = self.case.posterior(None, temperature, self.augmentation, copies)
            run = self.case.drawn(desk, name, method(temperature), posterior)
            predictive = run.predict(test.x)
            warm = predictive if warm is None else warm
            found[f"{temperature:g}"] = {**scores(predictive, test.y), **gap(predictive, warm, test.y)}
            if "acceptance" in run.draws.stats:
                found[f"{temperature:g}"]["acceptance"] = float(run.draws.stats["acceptance"].mean())
        return {key: found[key] for key in sorted(found, key=float)}

    def answer(self, found: Found) -> str:
        return _effect(found["temperatures"])

    def show(self, found: Found) -> list[Table | Figure]:
        return self._shown({"HMC": found["temperatures"]}, "")

    def _shown(self, sweeps: Mapping[str, Rows], ending: str) -> list[Table | Figure]:
        """A figure with a line for each sweep, and a table for each."""
        lines = {
            name: (np.array([float(key) for key in rows]), np.array([row["NLL"] for row in rows.values()]))
            for name, rows in sweeps.items()
        }
        figure = figures.curves(
            lines,
            "temperature",
            "loss (nats)",
            f"Loss against temperature{self.titled}{ending}",
            "Temperature 1 is the Bayes posterior. A minimum to its left is a cold-posterior effect.",
            log_x=True,
        )
        return [figure, *(self._table(name, rows) for name, rows in sweeps.items())]

    def _table(self, method: str, rows: Rows) -> Table:
        formats = {"accuracy": ".1%", "NLL": ".3f", "ECE": ".3f", "difference": "+.3f", "error": ".3f"}
        formats |= {"acceptance": ".0%"}
        formats = {name: form for name, form in formats.items() if name in next(iter(rows.values()))}
        table: list[Any] = [[float(key), *(row[name] for name in formats)] for key, row in rows.items()]
        return Table(
            ["temperature", *formats],
            table,
            f"{method}: temperature of prior and likelihood together{self.titled}. The difference in "
            "loss is to temperature one, with its standard error over test examples and chains.",
            formats,
            best={"accuracy": "higher", "NLL": "lower", "ECE": "lower"},
        )


@dataclass(frozen=True)
class AugmentedTemperature(Temperature):
    """The same with augmented images.

    HMC takes K fixed copies of each, whose log likelihoods have the weight 1/K.  SGHMC draws new ones for
    every mini-batch, and has a sweep without augmentation beside it.
    """

    question: ClassVar[str] = "Does data augmentation make a cold posterior better?"
    published: ClassVar[str] = (
        "The cold-posterior effect is largely an artefact of data augmentation: with it, colder posteriors "
        "predict better."
    )

    fresh: SGHMC = field(default_factory=SGHMC)

    def work(self, desk: Desk) -> Found:
        plain = replace(self, augmentation=())
        return {
            "temperatures": self._swept(desk, self.copies, self._shorter),
            "mini-batches": self._swept(desk, 1, lambda _: self.fresh, SGHMC.name),
            "mini-batches, plain": plain._swept(desk, 1, lambda _: self.fresh, SGHMC.name),
        }

    def _shorter(self, temperature: float) -> HMC:
        """A shorter run, since copies are made anew for every gradient."""
        method = self.case.swept(temperature)
        few = {"burn_in": 20, "draws": 30, "chains": 2}
        return replace(method, **{name: min(most, getattr(method, name)) for name, most in few.items()})

    def answer(self, found: Found) -> str:
        words = f"{' and '.join(self.augmentation)}, {self.copies} copies of every image"
        fixed, fresh, plain = (_lowered(_effect(found[name])) for name in SWEEPS)
        return (
            f"With augmentation ({words}) and HMC, {fixed} With SGHMC and new copies in every mini-batch, "
            f"{fresh} With SGHMC and no augmentation, {plain}"
        )

    def show(self, found: Found) -> list[Table | Figure]:
        names = (f"HMC, {self.copies} copies", "SGHMC, new copies", "SGHMC, no augmentation")
        sweeps = {name: found[key] for name, key in zip(names, SWEEPS, strict=True)}
        return self._shown(sweeps, ", with and without augmentation")


def _effect(rows: Rows) -> str:
    """Whether there is a cold-posterior effect, in a sentence."""
    best = min(rows, key=lambda key: rows[key]["NLL"])
    lowest, warm = rows[best]["NLL"], rows["1"]["NLL"]
    told = f"The loss is lowest at temperature {best} ({lowest:.3f} nats; {warm:.3f} at 1)"
    if best == "1":
        return f"{told}: there is no cold-posterior effect."
    clear = -rows[best]["difference"] > STANDARD_ERRORS * rows[best]["error"]
    if not clear:
        return f"{told}, within two standard errors: there is no clear cold-posterior effect."
    effect = "cold-posterior" if float(best) < 1 else "warm-posterior"
    return f"{told}, by more than two standard errors: there is a {effect} effect."


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
