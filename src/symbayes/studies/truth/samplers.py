"""How close other samplers and a deep ensemble come to HMC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from symbayes.analyse.compare import compare_predictives
from symbayes.draws import Run
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found
from symbayes.studies.truth.case import Asked
from symbayes.studies.truth.published import AGREEMENT, NOTE

CEILING = "ceiling: half of hmc"


@dataclass(frozen=True)
class Samplers(Asked):
    """Agreement and total variation with HMC, and the ceiling of both."""

    question: ClassVar[str] = "How close do other methods come to HMC?"
    published: ClassVar[str] = (
        "Advanced stochastic-gradient MCMC is closest to HMC; deep ensembles are about as close as SGLD and "
        "closer than mean-field variational inference. The predictions of all differ from those of HMC."
    )

    def work(self, desk: Desk) -> Found:
        case, test = self.case, self.case.dataset().test
        runs = {"hmc": case.hmc(desk)}
        for name, method in {**case.samplers, "ensemble": case.ensemble}.items():
            runs[name] = case.drawn(desk, name, method, case.posterior())
        predictives = {name: run.predict(test.x) for name, run in runs.items()}
        predictives["one network"] = predictives["ensemble"].of_draws(lambda array: array[:1])
        rows = compare_predictives(predictives, "hmc", np.asarray(test.y)).rows
        gradients = {name: Run(run.path).gradients for name, run in runs.items() if run.path is not None}
        found = {name: dict(row) for name, row in rows.items()}
        for name, count in gradients.items():
            found[name]["gradients"] = count
        return {"rows": found}

    def answer(self, found: Found) -> str:
        rows = found["rows"]
        others = {
            n: row for n, row in rows.items() if n not in ("hmc", CEILING) and row.get("TV") is not None
        }
        closest = min(others, key=lambda name: others[name]["TV"])
        ceiling = rows.get(CEILING, {})
        told = (
            f"Closest to HMC is {closest}, with an agreement of {others[closest]['agreement']:.1%} and a "
            f"total variation of {others[closest]['TV']:.3f}"
        )
        if ceiling:
            told += f" (the ceiling: {ceiling['agreement']:.1%} and {ceiling['TV']:.3f})"
        single, hmc = others["one network"], rows["hmc"]
        better = "better" if hmc["NLL"] < min(single["NLL"], others["ensemble"]["NLL"]) else "not better"
        return (
            f"{told}. The ensemble has {others['ensemble']['agreement']:.1%} and "
            f"{others['ensemble']['TV']:.3f}. The loss of HMC, {hmc['NLL']:.3f} nats, is {better} than "
            f"that of the ensemble ({others['ensemble']['NLL']:.3f}) and of one network "
            f"({single['NLL']:.3f})."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        rows = found["rows"]
        columns = {
            "accuracy": ".1%",
            "NLL": ".3f",
            "ECE": ".3f",
            "agreement": ".1%",
            "TV": ".3f",
            "gradients": ",.0f",
        }
        published = {"agreement, published": ".1%", "TV, published": ".3f"}
        table: list[Any] = [
            [name, *(row.get(column) for column in columns), *AGREEMENT.get(name, (None, None))]
            for name, row in rows.items()
        ]
        total = {n: row["TV"] for n, row in rows.items() if n != CEILING and row.get("TV") is not None}
        ceiling = rows.get(CEILING, {}).get("TV")
        return [
            figures.dots(
                {"ours": total},
                "total variation to HMC",
                f"Distance to HMC{self.titled}",
                "The line is the distance of one half of the HMC chains from the other half; methods below "
                "it cannot be ranked.",
                None if ceiling is None else ("half of HMC", ceiling),
            ),
            Table(
                ["method", *columns, *published],
                table,
                f"Every method compared with HMC{self.titled}. {NOTE}",
                columns | published,
                notes={"gradients": "full-data gradients of all chains, burn-in and training included"},
            ),
        ]
