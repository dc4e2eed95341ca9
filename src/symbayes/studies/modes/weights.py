"""The distance of weights from those of independently trained networks, with symmetries and without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from symbayes import data
from symbayes.analyse.compactness import diversity
from symbayes.analyse.compare import measure
from symbayes.analyse.predictions import predictive_of
from symbayes.analyse.quality import halves, unit_tests
from symbayes.draws import Draws
from symbayes.engine import Method, Opened
from symbayes.evaluate.metrics import find
from symbayes.methods import DeepEnsemble
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.elsewhere import elsewhere
from symbayes.studies.modes.presets import Settings
from symbayes.studies.modes.published import COLUMNS, published_table
from symbayes.studies.modes.reference import FORMS, Reference, different
from symbayes.studies.part import Found, Part

SCORES = ("accuracy", "ECE", "ACE", "Brier")
DETECTION = ("AUPR-out", "FPR95")
HEADS = {"raw": "MMD", "canonical": "MMD, no symmetries"}
FLOOR = "floor|"
LOW = 0.05


@dataclass(frozen=True)
class Weights(Part):
    """Maximum mean discrepancy of weights, raw and canonical; and a test that units have one marginal law."""

    question: ClassVar[str] = "How far are weights from those of independently trained networks?"
    published: ClassVar[str] = (
        "Methods of many modes are nearer to independently trained networks than those of one, also with "
        "symmetries removed."
    )

    settings: Settings
    methods: Mapping[str, Method]
    fleet: DeepEnsemble
    runs: str = "weights/"
    """The folder of the runs; empty where they are those of the predictions."""

    @property
    def of(self) -> str:
        return self.settings.words

    def work(self, desk: Desk) -> Found:
        dataset = data.load(self.settings.data)
        posterior = self.settings.posterior(dataset)
        fleet = desk.run(self.settings.folder("fleet"), self.fleet, posterior, dataset)
        reference = desk.once(f"canonical form of the fleet, {self.of}", lambda: Reference.of(fleet))
        second = halves(fleet.draws)[1]
        far, test = elsewhere(self.settings.elsewhere[0]), dataset.test

        def floor() -> dict[str, Any]:
            return reference.apart(second) | {"chains": second.chains, "draws": 1, "units": _units(fleet)}

        def row(run: Opened, modes: str, draws: Draws) -> dict[str, Any]:
            found = reference.apart(draws) | {"chains": draws.chains, "draws": len(draws)}
            found["scores"] = _scores(run, draws, test, far)
            return found | ({"units": _units(run)} if modes == "many" else {})

        rows: dict[str, dict[str, Any]] = {FLOOR: desk.step("the floor", floor)}
        for name, method in self.methods.items():
            run = desk.run(self.settings.folder(f"{self.runs}{name}"), method, posterior, dataset)
            for modes, draws in cuts(run.draws).items():
                what = f"{name}, {modes}: {draws.chains} x {len(draws)} draws"
                rows[f"{name}|{modes}"] = desk.step(what, partial(row, run, modes, draws))
        return {"rows": rows, "fleet": self.fleet.chains, "elsewhere": self.settings.elsewhere[0]}

    def answer(self, found: Found) -> str:
        rows, pairs = found["rows"], _pairs(found)
        if not pairs:
            return nearer(found)
        many = [rows[f"{name}|many"] for name in pairs]
        further = sum(row["canonical"]["mmd"] > row["raw"]["mmd"] for row in many)
        p_values = [p for row in rows.values() for p in (row.get("units") or {}).values()]
        told = (
            f"{nearer(found)} Removing symmetries increases the distance of {further} of the {len(pairs)} "
            "methods with many modes, and decreases that of the others."
        )
        if p_values:
            told += (
                " The hypothesis that all units of a layer have the same marginal distribution is "
                f"rejected at {LOW} in {sum(p < LOW for p in p_values)} of {len(p_values)} layers of all "
                f"methods, where {LOW * len(p_values):.1f} are expected by chance."
            )
        return told

    def show(self, found: Found) -> list[Table | Figure]:
        rows = found["rows"]
        names = list(dict.fromkeys(name.partition("|")[0] for name in rows if name != FLOOR))
        dots = {
            f"{modes} mode{'' if modes == 'one' else 's'}": {
                name: rows[f"{name}|{modes}"]["canonical"]["mmd"]
                for name in names
                if _compared(rows, f"{name}|{modes}")
            }
            for modes in ("one", "many")
        }
        columns = {
            f"{head}{what}": form for head in HEADS.values() for what, form in (("", ".4f"), (", p", ".3f"))
        }
        table: list[Any] = [
            [
                *_named(name, found),
                f"{row['chains']} x {row['draws']}",
                *(row[form].get(key) for form in FORMS for key in ("mmd", "p_value")),
                min(row["units"].values()) if row.get("units") else None,
            ]
            for name, row in rows.items()
        ]
        return [
            figures.dots(
                dots,
                "squared MMD of canonical weights",
                "Distance from independently trained networks",
                f"Distance from {found['fleet'] // 2} networks. The estimates are unbiased, so they may be "
                "negative.",
                ("floor", rows[FLOOR]["canonical"]["mmd"]),
            ),
            Table(
                ["method", "modes", "draws", *columns, "units, p"],
                table,
                "Squared maximum mean discrepancy of all weights from independently trained networks, at "
                "matched numbers of draws. The first row is the floor: other independently trained networks.",
                {**columns, "units, p": ".3f"},
                notes={
                    "p": "p-value of a test that permutes chains with networks, by the last draw of each "
                    "chain",
                    "dropout": "its draws are masks over one network of each chain: the distance is that of "
                    "the networks, so one mode has none",
                    "units, p": "lowest p-value over layers of the exact test that all units have the same "
                    "marginal distribution; methods that begin at the same networks are not independent",
                },
            ),
            _ten_columns(found),
            published_table(),
        ]


def nearer(found: Found) -> str:
    """For how many methods many modes are nearer than one, in a sentence."""
    rows, pairs = found["rows"], _pairs(found)
    if not pairs:
        return "No method has enough draws in one mode for a comparison."
    count = {
        form: sum(rows[f"{n}|many"][form]["mmd"] < rows[f"{n}|one"][form]["mmd"] for n in pairs)
        for form in FORMS
    }
    return (
        f"With many modes instead of one, {count['raw']} of {len(pairs)} methods are nearer to independently "
        f"trained networks, and {count['canonical']} with symmetries removed."
    )


def _pairs(found: Found) -> list[str]:
    """Methods with a distance for one mode and for many."""
    rows = found["rows"]
    names = [name.removesuffix("|many") for name in rows if name.endswith("|many")]
    return [name for name in names if _compared(rows, f"{name}|one")]


def _compared(rows: Mapping[str, Any], name: str) -> bool:
    """Whether the row is there and has a distance."""
    return name in rows and "mmd" in rows[name]["raw"]


def cuts(draws: Draws) -> dict[str, Draws]:
    """Equally many draws from one chain and from all chains; only the latter where chains have one draw."""
    if len(draws) == 1:
        return {"many": draws.select()}
    each = -(-len(draws) // draws.chains)
    places = np.linspace(0, len(draws) - 1, each).round().astype(int)
    return {"one": draws.select(chains=[0]), "many": draws.select(draws=np.unique(places))}


def _scores(run: Opened, draws: Draws, test: data.Examples, far: np.ndarray) -> dict[str, float]:
    """The columns of the paper without the distances, by the names of our metrics."""
    here, there = (predictive_of(run, draws, x) for x in (test.x, far))
    y = np.asarray(test.y)
    numbers = measure(here, y, metrics=[find(name, "classes") for name in SCORES])
    numbers |= measure(here, y, metrics=[find(name, "classes") for name in DETECTION], ood=there)
    return numbers | diversity(here, there)


def _ten_columns(found: Found) -> Table:
    forms: dict[str, str] = dict.fromkeys(COLUMNS, ".1f")
    forms |= dict.fromkeys(("MMD", "MMD NS", "MI in", "MI out"), ".3f")
    rows: list[Any] = [
        [
            *name.split("|"),
            *(row[form].get("mmd") for form in FORMS),
            *(100 * row["scores"][column] for column in (*SCORES, *DETECTION)),
            *(row["scores"][column] for column in ("MI in", "MI out")),
        ]
        for name, row in found["rows"].items()
        if name != FLOOR
    ]
    caption = (
        "The paper's ten columns, all from the same draws: distances raw and with symmetries removed (NS), "
        f"scores on test data and detection of {found['elsewhere']} in per cent, and mutual information in "
        "nats in and out of distribution."
    )
    return Table(["method", "modes", *COLUMNS], rows, caption, forms)


def _units(run: Opened) -> dict[str, float]:
    return {
        layer: test.p_value for layer, test in unit_tests(different(run.draws.select()), run.group).items()
    }


def _named(row: str, found: Found) -> tuple[str, str]:
    name, _, modes = row.partition("|")
    return (name, modes) if modes else (f"ensemble of {found['rows'][FLOOR]['chains']}", "many")
