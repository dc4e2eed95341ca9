"""How far weights are from those of independently trained networks, with symmetries and without."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symbayes import data
from symbayes.analyse.quality import EVERYTHING, quality
from symbayes.engine import Opened
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.modes.presets import Settings
from symbayes.studies.part import Found, Part

FORMS = {"raw": "MMD", "canonical": "MMD, no symmetries"}


@dataclass(frozen=True)
class Weights(Part):
    """Maximum mean discrepancy of weights, raw and canonical."""

    question: ClassVar[str] = "How far are weights from those of independently trained networks?"
    published: ClassVar[str] = (
        "Methods of many modes are nearer to independently trained networks than those of one, also with "
        "symmetries removed."
    )

    settings: Settings

    def work(self, desk: Desk) -> Found:
        dataset = data.load(self.settings.data)
        posterior = self.settings.posterior(dataset)
        ensemble: Any = self.settings.methods["ensemble"]
        fleet = replace(ensemble, chains=self.settings.fleet)
        reference = desk.run("fleet", fleet, posterior, dataset)
        rows: dict[str, dict[str, Any]] = {}
        for name, method in self.settings.methods.items():
            run = desk.run(self.settings.folder(name), method, posterior, dataset)
            if not run.draws.forward.plain:
                desk.tell(f"{name}: its draws do not predict by their weights alone")
                continue
            for modes in ("one", "many"):
                found = _distances(_cut(run, modes), reference)
                if found is not None:
                    rows[f"{name}|{modes}"] = found
        return {"rows": rows, "fleet": self.settings.fleet}

    def answer(self, found: Found) -> str:
        rows = found["rows"]
        pairs = [name.partition("|")[0] for name in rows if name.endswith("|many")]
        pairs = [name for name in pairs if f"{name}|one" in rows]
        if not pairs:
            return "No method has draws enough in one mode to be compared."
        nearer = {
            form: sum(rows[f"{n}|many"][form]["mmd"] < rows[f"{n}|one"][form]["mmd"] for n in pairs)
            for form in FORMS
        }
        many = [rows[f"{name}|many"] for name in pairs]
        further = sum(row["canonical"]["mmd"] > row["raw"]["mmd"] for row in many)
        return (
            f"Of {len(pairs)} methods, many modes are nearer to independently trained networks than one for "
            f"{nearer['raw']}, and for {nearer['canonical']} with symmetries removed. "
            f"Removing symmetries lets {further} of the {len(pairs)} with many modes seem further "
            "away, and the others nearer."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        rows = found["rows"]
        names = list(dict.fromkeys(name.partition("|")[0] for name in rows))
        dots = {
            f"{modes} mode{'' if modes == 'one' else 's'}": {
                name: rows[f"{name}|{modes}"]["canonical"]["mmd"]
                for name in names
                if f"{name}|{modes}" in rows
            }
            for modes in ("one", "many")
        }
        columns = {
            f"{head}{what}": form
            for head in FORMS.values()
            for what, form in (("", ".4f"), (", floor", ".4f"), (", p", ".3f"))
        }
        table = [
            [
                *name.split("|"),
                row["draws"],
                *(row[form][key] for form in FORMS for key in ("mmd", "floor", "p_value")),
            ]
            for name, row in rows.items()
        ]
        return [
            figures.dots(
                dots,
                "squared MMD of canonical weights",
                "Distance from independently trained networks",
                f"Unbiased estimates, so they may be below zero; against {found['fleet'] // 2} networks.",
            ),
            Table(
                ["method", "modes", "draws", *columns],
                table,
                "Squared maximum mean discrepancy of all weights from independently trained networks.",
                {"draws": ",", **columns},
                notes={
                    "floor": "one half of the independently trained networks against the other",
                    "p": "of a test that permutes chains; empty where chains differ in length",
                },
            ),
        ]


def _cut(run: Opened, modes: str) -> Opened:
    return run if modes == "many" else replace(run, draws=run.draws.select(chains=[0]))


def _distances(run: Opened, reference: Opened) -> dict[str, Any] | None:
    """None for a single draw."""
    if run.draws.chains * len(run.draws) < 2:
        return None
    found = quality(run, reference)
    numbers = found.numbers()["weights"]
    return {form: numbers[form][EVERYTHING] for form in FORMS if form in numbers} | {"draws": found.draws}
