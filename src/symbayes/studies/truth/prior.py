"""Whether the scale and the family of the prior matter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from symbayes.posterior import priors
from symbayes.posterior.priors import Prior
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found
from symbayes.studies.truth.case import Asked, scores

FAMILIES: dict[str, Callable[[float], Prior]] = {
    "normal": priors.Normal,
    "logistic": lambda deviation: priors.Logistic(deviation * math.sqrt(3) / math.pi),
    "mixture": lambda deviation: priors.GaussianMixture((1.3 * deviation, math.sqrt(0.31) * deviation)),
    "laplace": lambda deviation: priors.Laplace(deviation / math.sqrt(2)),
    "student-t": lambda deviation: priors.StudentT(deviation / math.sqrt(2)),
}
"""Laws of a given standard deviation; the mixture is an even one of two normals, Student's t has 4 degrees
of freedom."""

ROBUST = 0.01
"""Accuracies that differ by at most this count as similar."""


@dataclass(frozen=True)
class PriorChoice(Asked):
    """Normal priors of several scales, and other families with the same standard deviation."""

    question: ClassVar[str] = "Do the scale and the family of the prior matter?"
    published: ClassVar[str] = (
        "The average is robust to the scale of the prior, and similar for Gaussian, mixture and logistic "
        "priors; wide Gaussians do well."
    )

    scales: tuple[float, ...]
    families: tuple[str, ...]

    def work(self, desk: Desk) -> Found:
        test, case = self.case.dataset().test, self.case
        wanted = [("normal", scale) for scale in self.scales]
        wanted += [(family, case.scale) for family in self.families if family != "normal"]
        found: dict[str, dict[str, Any]] = {"scales": {}, "families": {}}
        for family, scale in wanted:
            posterior = case.posterior(prior=FAMILIES[family](scale))
            if (family, scale) == ("normal", case.scale):
                run = case.drawn(
                    desk, "temperature-1", case.swept(), posterior
                )  # the sweep of temperatures has it
            else:
                # Of a prior with heavy tails nothing is known of a good step: it is adapted.
                method = replace(case.swept(scale=scale), adapt=True)
                run = case.drawn(desk, f"prior-{family}-{scale:g}", method, posterior)
            numbers = scores(run.predict(test.x), test.y)
            numbers["acceptance"] = float(run.draws.stats["acceptance"].mean())
            if family == "normal":
                found["scales"][f"{scale:g}"] = numbers
            if scale == case.scale:
                found["families"][family] = numbers
        return {"scale": case.scale, **found}

    def answer(self, found: Found) -> str:
        scales, families = found["scales"], found["families"]
        low, high = _range(scales)
        reach = max(map(float, scales)) / min(map(float, scales))
        best = min(scales, key=lambda key: scales[key]["NLL"])
        robust = "robust to" if high - low <= ROBUST else "sensitive to"
        told = (
            f"The average prediction is {robust} the scale: over a factor of {reach:g} the accuracy is "
            f"between {low:.1%} and {high:.1%}, and the loss is lowest at a scale of {best}."
        )
        if len(families) < 2:
            return told
        low, high = _range(families)
        alike = "similar" if high - low <= ROBUST else "different"
        return (
            f"{told} {len(families)} families with the same standard deviation give {alike} accuracies: "
            f"{low:.1%} to {high:.1%}."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        scales = np.array([float(key) for key in found["scales"]])
        losses = np.array([row["NLL"] for row in found["scales"].values()])
        columns = {"accuracy": ".1%", "NLL": ".3f", "ECE": ".3f", "acceptance": ".0%"}
        named = {f"normal, {scale}": row for scale, row in found["scales"].items()}
        named |= {
            f"{family}, {found['scale']:g}": row
            for family, row in found["families"].items()
            if family != "normal"
        }
        return [
            figures.curves(
                {"normal": (scales, losses)},
                "standard deviation of the prior",
                "loss (nats)",
                f"Loss against the prior's scale{self.titled}",
                "A flat line means that the scale does not matter.",
                log_x=True,
            ),
            Table(
                ["prior", *columns],
                [[name, *(row[column] for column in columns)] for name, row in named.items()],
                f"Priors by family and standard deviation{self.titled}.",
                columns,
                best={"accuracy": "higher", "NLL": "lower", "ECE": "lower"},
            ),
        ]


def _range(rows: dict[str, Any]) -> tuple[float, float]:
    accuracies = [row["accuracy"] for row in rows.values()]
    return min(accuracies), max(accuracies)
