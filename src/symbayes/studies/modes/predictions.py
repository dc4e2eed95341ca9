"""The predictions of every method, with one mode and with many: scores, calibration, detection of
out-of-distribution inputs, diversity, and cost."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from symbayes import data
from symbayes.analyse.compare import measure
from symbayes.engine import Method, Opened
from symbayes.evaluate.metrics import find
from symbayes.posterior import Predictive
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.elsewhere import elsewhere
from symbayes.studies.modes.presets import Settings
from symbayes.studies.part import Found, Part

SCORES = ("accuracy", "NLL", "Brier", "ECE", "ACE", "mutual-information")
DETECTION = ("AUROC", "AUPR-out", "FPR95")


@dataclass(frozen=True)
class Predictions(Part):
    """A table of all methods."""

    question: ClassVar[str] = "What do many modes add to one?"
    published: ClassVar[str] = (
        "Methods of many modes predict better and are better calibrated than those of one, and their draws "
        "are more diverse, in and out of distribution."
    )

    settings: Settings
    methods: Mapping[str, Method]

    @property
    def of(self) -> str:
        return self.settings.words

    def work(self, desk: Desk) -> Found:
        dataset = data.load(self.settings.data)
        foreign = {name: elsewhere(name) for name in self.settings.elsewhere}
        posterior = self.settings.posterior(dataset)
        rows: dict[str, dict[str, float]] = {}
        for name, method in self.methods.items():
            begin = time.monotonic()
            run = desk.run(self.settings.folder(name), method, posterior, dataset)
            seconds = time.monotonic() - begin
            predictive = run.predict(dataset.test.x)
            others = {set_: run.predict(x) for set_, x in foreign.items()}
            for modes in ("one", "many"):
                cut = _first if modes == "one" else _all
                row = self._row(
                    predictive.of_draws(cut),
                    np.asarray(dataset.test.y),
                    {set_: other.of_draws(cut) for set_, other in others.items()},
                )
                row |= {"floats": _floats(run, modes), "seconds": seconds}
                row["draws"] = predictive.of_draws(cut).count
                rows[f"{name}|{modes}"] = row
                desk.tell(f"{_words(f'{name}|{modes}')}: " + _brief(row))
        return {
            "rows": rows,
            "elsewhere": list(foreign),
            "chains": max(method.chains for method in self.methods.values()),
        }

    def _row(self, predictive: Predictive, y: np.ndarray, foreign: dict[str, Predictive]) -> dict[str, float]:
        row = measure(predictive, y, metrics=[find(name, "classes") for name in SCORES])
        for name, other in foreign.items():
            found = measure(predictive, y, metrics=[find(n, "classes") for n in DETECTION], ood=other)
            row |= {f"{metric}|{name}": value for metric, value in found.items()}
            if other.count > 1:
                row[f"mutual-information|{name}"] = find("mutual-information", "classes").of(other)
        return row

    def answer(self, found: Found) -> str:
        rows = found["rows"]
        best = min(rows, key=lambda name: rows[name]["NLL"])
        first = found["elsewhere"][0]
        detects = max(rows, key=lambda name: rows[name][f"AUROC|{first}"])
        return (
            f"{gained(found)} The loss is lowest for {_words(best)} ({rows[best]['NLL']:.3f} nats), and "
            f"the detection of {first} is best for {_words(detects)} (AUROC "
            f"{rows[detects][f'AUROC|{first}']:.3f})."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        rows, sets = found["rows"], found["elsewhere"]
        names = list(dict.fromkeys(name.partition("|")[0] for name in rows))
        losses = {
            f"{modes} mode{'' if modes == 'one' else 's'}": {n: rows[f"{n}|{modes}"]["NLL"] for n in names}
            for modes in ("one", "many")
        }
        columns = {"accuracy": ".1%", "NLL": ".3f", "Brier": ".3f", "ECE": ".3f", "ACE": ".3f"}
        diverse = {"mutual-information": ".3f", **{f"mutual-information|{name}": ".3f" for name in sets}}
        cost = {"draws": ",", "floats": ",", "seconds": ",.0f"}
        detection = {
            f"{metric}|{name}": ".1%" if metric == "FPR95" else ".3f" for name in sets for metric in DETECTION
        }
        return [
            figures.dots(losses, "NLL, in nats", "Loss with one mode and with many", _caption(found)),
            _table(rows, columns | cost, "Scores and calibration on the test set, and cost.", SECONDS),
            _table(
                rows, detection, "Detection of out-of-distribution inputs by the maximum probability.", {}
            ),
            _table(rows, diverse, "Diversity: mutual information, in nats.", {}),
        ]


def gained(found: Found) -> str:
    """The gain from many modes, in a sentence."""
    rows = found["rows"]
    names = [name.partition("|")[0] for name in rows if name.endswith("|many")]
    better = {
        metric: [n for n in names if rows[f"{n}|many"][metric] < rows[f"{n}|one"][metric]]
        for metric in ("NLL", "ECE")
    }
    return (
        f"With {found['chains']} modes instead of one, the loss falls for {len(better['NLL'])} of "
        f"{len(names)} methods, and the calibration error for {len(better['ECE'])}."
    )


SECONDS = {
    "seconds": "time to draw all chains, compiling included; the row of one mode has the first chain only",
    "floats": "numbers that the draws store; weights that all draws of a chain share count once",
}


def _first(array: np.ndarray) -> np.ndarray:
    return array[:1]


def _all(array: np.ndarray) -> np.ndarray:
    return array


def _floats(run: Opened, modes: str) -> int:
    return run.draws.floats // (run.draws.chains if modes == "one" else 1)


def _words(row: str) -> str:
    name, _, modes = row.partition("|")
    return f"{name} with {modes} mode{'' if modes == 'one' else 's'}"


def _brief(row: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in row.items())


def _caption(found: Found) -> str:
    return f"Mean negative log probability of the labels. Many modes are {found['chains']}."


def _table(rows: Any, columns: dict[str, str], caption: str, notes: dict[str, str]) -> Table:
    heads = {column: column.replace("|", ", ") for column in columns}
    return Table(
        ["method", "modes", *heads.values()],
        [[*name.split("|"), *(row.get(column) for column in columns)] for name, row in rows.items()],
        caption,
        {heads[column]: form for column, form in columns.items()},
        notes=notes,
    )
