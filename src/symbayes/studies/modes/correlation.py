"""Do runs with weights closer to the reference detect out-of-distribution inputs better?

Methods are run at several learning rates and seeds, with one mode and with many.  For each run, the distance
of canonical weights from those of independently trained networks is compared with the detection of
out-of-distribution inputs.  The correlation is Spearman's rank correlation.  Its interval is by a bootstrap
over settings (a method, a learning rate, one mode or many), with all their seeds, since the seeds of one
setting give similar results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from symbayes import data
from symbayes.analyse.compare import measure
from symbayes.analyse.predictions import predictive_of
from symbayes.engine import Method, Opened
from symbayes.evaluate.intervals import Interval, percentile_interval
from symbayes.evaluate.metrics import find
from symbayes.methods import DeepEnsemble
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.elsewhere import elsewhere
from symbayes.studies.modes.presets import Settings
from symbayes.studies.modes.reference import Reference
from symbayes.studies.modes.weights import cuts
from symbayes.studies.part import Found, Part

RESAMPLES = 1000
AGAINST = {"AUROC": "area under the ROC curve", "accuracy": "accuracy on the test set"}


@dataclass(frozen=True)
class Correlation(Part):
    """Posterior quality against detection, over methods, learning rates and seeds."""

    question: ClassVar[str] = (
        "Do runs with weights closer to the reference detect out-of-distribution inputs better?"
    )
    published: ClassVar[str] = (
        "There is no clear correlation between the quality of the posterior and the detection of inputs that "
        "are out of distribution."
    )

    settings: Settings
    methods: Mapping[str, Method]
    factors: tuple[float, ...]
    seeds: int
    fleet: DeepEnsemble

    @property
    def of(self) -> str:
        return self.settings.words

    def work(self, desk: Desk) -> Found:
        dataset = data.load(self.settings.data)
        posterior = self.settings.posterior(dataset)
        fleet = desk.run(self.settings.folder("fleet"), self.fleet, posterior, dataset)
        reference = desk.once(f"canonical form of the fleet, {self.of}", lambda: Reference.of(fleet))
        far, y = elsewhere(self.settings.elsewhere[0]), np.asarray(dataset.test.y)

        def measured(setting: str, seed: int, run: Opened) -> list[dict[str, Any]]:
            found = []
            for modes, draws in cuts(run.draws).items():
                here, there = (predictive_of(run, draws, x) for x in (dataset.test.x, far))
                numbers = measure(here, y, metrics=[find("accuracy", "classes")])
                numbers |= measure(here, y, metrics=[find("AUROC", "classes")], ood=there)
                mmd = reference.apart(draws)["canonical"]["mmd"]
                found.append({"setting": f"{setting}|{modes}", "seed": seed, "mmd": mmd, **numbers})
            return found

        rows: list[dict[str, Any]] = []
        for name, method in self.methods.items():
            base: Any = method.resolve(posterior)
            for factor in self.factors:
                tried = replace(base, learning_rate=factor * base.learning_rate)
                for seed in range(self.seeds):
                    where = self.settings.folder(f"varied/{name}-{factor:g}-{seed}")
                    run = replace(desk, seed=desk.seed + seed).run(where, tried, posterior, dataset)
                    rows += desk.step(
                        f"{where}: measured", partial(measured, f"{name}|{factor:g}", seed, run)
                    )
        return {"rows": rows, "elsewhere": self.settings.elsewhere[0]}

    def answer(self, found: Found) -> str:
        rows = found["rows"]
        seen = correlation(rows, "AUROC")
        clear = seen.low > 0 or seen.high < 0
        way = "better" if seen.value < 0 else "worse"
        verdict = f"Nearer weights go with {way} detection" if clear else "There is no clear correlation"
        return (
            f"{verdict}: over {len(rows)} runs of {len({row['setting'] for row in rows})} settings, the rank "
            f"correlation between the distance of weights and the AUROC for {found['elsewhere']} is "
            f"{seen.value:.2f} (95 % interval {seen.low:.2f} to {seen.high:.2f})."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        rows = found["rows"]
        names = dict.fromkeys(row["setting"].partition("|")[0] for row in rows)
        series = {name: [row for row in rows if row["setting"].startswith(f"{name}|")] for name in names}
        marks = {
            name: (np.array([r["mmd"] for r in some]), np.array([r["AUROC"] for r in some]))
            for name, some in series.items()
        }
        groups = {"all": rows} | {
            f"{modes} mode{'' if modes == 'one' else 's'}": [r for r in rows if r["setting"].endswith(modes)]
            for modes in ("one", "many")
        }
        table: list[Any] = [
            [group, words, len(some), seen.value, seen.low, seen.high]
            for group, some in groups.items()
            for column, words in AGAINST.items()
            for seen in [correlation(some, column)]
        ]
        return [
            figures.points(
                marks,
                "squared MMD of canonical weights",
                "AUROC",
                "Posterior quality and detection",
                f"Detection of {found['elsewhere']}. One mark for each run: a method at a learning rate "
                "and a seed, with its first chain or with all chains.",
            ),
            Table(
                ["runs", "correlated with", "count", "rank correlation", "low", "high"],
                table,
                "Spearman's rank correlation between the distance of weights and another number, with 95 % "
                "intervals by a bootstrap over settings.",
                dict.fromkeys(("rank correlation", "low", "high"), ".2f"),
            ),
        ]


def correlation(rows: Sequence[Mapping[str, Any]], column: str, seed: int = 0) -> Interval:
    """The correlation between the distance and a column, with its interval."""
    settings = list(dict.fromkeys(row["setting"] for row in rows))
    groups = [[row for row in rows if row["setting"] == setting] for setting in settings]
    rng = np.random.default_rng(seed)

    def of(some: Sequence[Mapping[str, Any]]) -> float:
        return spearman(np.array([r["mmd"] for r in some]), np.array([r[column] for r in some]))

    drawn = (rng.integers(0, len(groups), len(groups)) for _ in range(RESAMPLES))
    return percentile_interval(of(rows), [of([row for k in picks for row in groups[k]]) for picks in drawn])


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's correlation of ranks; nan where all values of one side are equal."""
    from scipy.stats import rankdata  # slow to import

    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (x, y))
    size = np.sqrt(np.sum(a**2) * np.sum(b**2))
    return float(np.sum(a * b) / size) if size > 0 else float("nan")
