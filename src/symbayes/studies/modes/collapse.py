"""Do independent trainings end in the same function?  The mutual information of pairs of networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from symbayes import data, evaluate
from symbayes.analyse.bounds import evenly
from symbayes.evaluate.pairwise import pairs_of
from symbayes.methods import DeepEnsemble
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.elsewhere import elsewhere
from symbayes.studies.modes.presets import Settings
from symbayes.studies.part import Found, Part

INPUTS = 500
"""The largest number of inputs at which functions are compared."""
SHOWN = 600
"""The number of pairs in the figure."""
WEAK = 0.5
"""A correlation below this is called weak."""


@dataclass(frozen=True)
class Collapse(Part):
    """The mutual information of every pair of many small networks, in and out of distribution."""

    question: ClassVar[str] = "Do independent trainings end in the same function?"
    published: ClassVar[str] = (
        "The pairwise mutual information of 1,000 networks has very low dispersion in distribution and "
        "greater out of distribution, and the two are weakly correlated."
    )

    settings: Settings
    fleet: DeepEnsemble

    @property
    def of(self) -> str:
        return self.settings.words

    def work(self, desk: Desk) -> Found:
        dataset = data.load(self.settings.data)
        run = desk.run(
            self.settings.folder("small-fleet"), self.fleet, self.settings.posterior(dataset), dataset
        )
        sets = {"test": np.asarray(dataset.test.x)} | {n: elsewhere(n) for n in self.settings.elsewhere}
        matrices = {}
        for name, x in sets.items():
            desk.tell(f"mutual information of all pairs of {run.draws.chains} networks: {name}")
            probs = run.predict(x[evenly(len(x), INPUTS)]).every[:, 0]
            matrices[name] = np.asarray(evaluate.pairwise_mutual_information(probs))
        inside = matrices["test"]
        values = {name: pairs_of(matrix) for name, matrix in matrices.items()}
        some = evenly(len(values["test"]), SHOWN)
        spread = {name: evaluate.dispersion(matrix) for name, matrix in matrices.items()}
        together = {
            name: evaluate.pair_correlation(inside, matrix)
            for name, matrix in matrices.items()
            if name != "test"
        }
        return {
            "networks": run.draws.chains,
            "sets": {
                name: {
                    "mean": one.mean,
                    "deviation": one.deviation,
                    "ratio": one.ratio,
                    "quantiles": np.quantile(values[name], (0.025, 0.975)),
                }
                for name, one in spread.items()
            },
            "correlation": {name: [c.value, c.low, c.high] for name, c in together.items()},
            "pairs": {name: each[some].round(6) for name, each in values.items()},
        }

    def answer(self, found: Found) -> str:
        sets = found["sets"]
        far = next(name for name in sets if name != "test")
        value, low, high = found["correlation"][far]
        wider = "wider" if sets[far]["deviation"] > sets["test"]["deviation"] else "no wider"
        strength = "weakly" if abs(value) < WEAK else "strongly"
        return (
            f"Two of {found['networks']:,} networks have a mutual information of "
            f"{sets['test']['mean']:.3f} nats "
            f"(± {sets['test']['deviation']:.3f} over pairs) on test data and of {sets[far]['mean']:.3f} "
            f"(± {sets[far]['deviation']:.3f}) on {far}, so the spread is {wider} there. The two numbers are "
            f"{strength} correlated over pairs: {value:.2f} (95 % interval {low:.2f} to {high:.2f})."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        pairs = found["pairs"]
        marks = {
            name: (np.array(pairs["test"]), np.array(values))
            for name, values in pairs.items()
            if name != "test"
        }
        rows: list[Any] = [
            [
                name,
                one["mean"],
                one["deviation"],
                one["ratio"],
                *one["quantiles"],
                *found["correlation"].get(name, [None] * 3),
            ]
            for name, one in found["sets"].items()
        ]
        columns = ["mean", "deviation", "ratio", "2.5 %", "97.5 %", "correlation", "low", "high"]
        return [
            figures.points(
                marks,
                "mutual information on test data (nats)",
                "out of distribution (nats)",
                "Disagreement of two networks, in and out of distribution",
                f"One mark for each of some pairs of {found['networks']:,} networks. The largest possible "
                "value is ln 2 = 0.69.",
            ),
            Table(
                ["inputs", *columns],
                rows,
                "Mutual information of pairs of networks, in nats: mean and standard deviation over pairs, "
                "deviation divided by mean, the range of 95 % of the pairs, and the correlation with the "
                "mutual information on test data, with its 95 % interval by a bootstrap over networks.",
                {
                    name: ".4f" if name not in ("ratio", "correlation", "low", "high") else ".2f"
                    for name in columns
                },
            ),
        ]
