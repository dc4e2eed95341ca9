"""Whether the chains have mixed: in functions, in weights, and in weights without symmetries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from symbayes.analyse import Bounds, diagnose
from symbayes.analyse.mixing import FORMATS, GOOD
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found
from symbayes.studies.truth.case import Asked

DIGITS = 4
FUNCTIONS = "predictions"


@dataclass(frozen=True)
class Mixing(Asked):
    """R-hat of the reference run in functions, in weights and, beside the prior, in aligned weights."""

    question: ClassVar[str] = "Have the chains mixed, in weights and in functions?"
    published: ClassVar[str] = (
        "R-hat is close to one for most weights, and even closer in the space of functions."
    )

    aligned_draws: int

    def work(self, desk: Desk) -> Found:
        bounds = Bounds(draws=self.aligned_draws)
        x = self.case.dataset().test.x
        found = diagnose(self.case.hmc(desk), x, bounds=bounds, tell=desk.tell)
        rhat = {space: np.round(mixing.rhat, DIGITS).tolist() for space, mixing in found.across.items()}
        return {**found.numbers(), "rhat": rhat}

    def answer(self, found: Found) -> str:
        spaces = found["spaces"]
        functions, weights = spaces[FUNCTIONS], spaces["weights"]
        closer = functions["R-hat, median"] < weights["R-hat, median"]
        told = (
            f"R-hat is below {GOOD} for {functions['below 1.1']:.1%} of the predictions (median "
            f"{functions['R-hat, median']:.3f}) and for {weights['below 1.1']:.1%} of the weights (median "
            f"{weights['R-hat, median']:.3f}). It is {'closer' if closer else 'not closer'} to one in "
            "functions."
        )
        if "aligned weights" not in spaces:
            return told
        aligned, noise = (spaces[name]["R-hat, median"] for name in ("aligned weights", "prior, aligned"))
        return (
            f"{told} Without symmetries the median of the weights is {aligned:.3f} (draws of the prior: "
            f"{noise:.3f})."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        # What is not finite stands as null in JSON.
        rhat = {
            space: np.array([np.nan if v is None else v for v in values])
            for space, values in found["rhat"].items()
        }
        functions = {"predictions": rhat.pop(FUNCTIONS)}
        rows = [[space, *numbers.values()] for space, numbers in found["spaces"].items()]
        rows = [row for row in rows if row[0] in found["rhat"]]
        return [
            figures.rhat_histograms(rhat, functions),
            Table(
                ["space", *FORMATS],
                rows,
                f"{found['chains']} chains of {found['draws']:,} draws{self.titled}. Of each chain "
                f"{found['aligned_draws']:,} draws were aligned, and as many draws of the prior.",
                FORMATS,
            ),
        ]
