"""The smallest complete study: is the average of many draws better than one draw?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import symbayes as sb
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies import Desk, Found, Part, Study


# --8<-- [start:part]
@dataclass(frozen=True)
class Averaging(Part):
    """How the loss of the average falls with the number of draws."""

    question: ClassVar[str] = "Is the average better than one draw?"
    published: ClassVar[str] = "The average of many draws is better than any single one."

    examples: int
    method: sb.HMC

    def work(self, desk: Desk) -> Found:
        dataset = sb.data.load("digits", examples=self.examples)
        posterior = sb.Posterior(
            sb.networks.mlp(hidden=(8,), outputs=10),
            sb.likelihoods.Categorical(),
            sb.priors.Normal(0.5),
            dataset.train,
        )
        run = desk.run("hmc", self.method, posterior, dataset)
        predictive = run.predict(dataset.test.x)
        counts = np.unique(np.geomspace(1, predictive.every.shape[1], 4).astype(int))
        losses = [predictive.of_draws(lambda a, n=n: a[:, :n]).losses(dataset.test.y).mean() for n in counts]
        return {"draws": counts, "loss": losses}

    def answer(self, found: Found) -> str:
        first, last = found["loss"][0], found["loss"][-1]
        verdict = "is better than" if last < first else "is not better than"
        return (
            f"The average of {found['draws'][-1]} draws {verdict} one draw: {last:.3f} for {first:.3f} nats."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        rows = list(zip(found["draws"], found["loss"], strict=True))
        line = {"average": (np.array(found["draws"]), np.array(found["loss"]))}
        return [
            Table(["draws", "loss"], rows, "Loss of the average, nats per example.", {"loss": ".3f"}),
            figures.curves(line, "draws", "loss (nats)", "Loss of the average"),
        ]


# --8<-- [end:part]


# --8<-- [start:study]
@dataclass(frozen=True)
class AveragingStudy(Study):
    """Whether averaging over draws helps."""

    name: ClassVar[str] = "averaging"
    title: ClassVar[str] = "Does averaging over draws help?"
    source: ClassVar[str] = "any textbook"

    def parts(self) -> Mapping[str, Part]:
        short = sb.HMC(step_size=0.01, trajectory=0.03, burn_in=2, draws=8, chains=2)
        long = sb.HMC(step_size=0.01, trajectory=0.5, burn_in=50, draws=200, chains=2)
        return {"averaging": Averaging(128, short) if self.preset == "tiny" else Averaging(1257, long)}

    def answer(self, found: Mapping[str, Found]) -> str:
        gained = found["averaging"]["loss"][0] - found["averaging"]["loss"][-1]
        return f"Averaging changes the loss by {-gained:.3f} nats per example."


# --8<-- [end:study]
