"""Runs compared as models of their data: tables, figures and the page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from symbayes.analyse.evidence import Models
from symbayes.engine import Opened
from symbayes.evaluate import Rungs
from symbayes.evaluate.evidence import POWER
from symbayes.report import figures, page
from symbayes.report.contents import Figure, Section, Table
from symbayes.report.provenance import provenance

NOTES = {
    "elpd": "expected log predictive density, summed over training points, in nats; higher is better",
    "p": "effective number of parameters",
    "doubtful": "share of points whose importance weights cannot be trusted (Pareto's k above 0.7)",
}


def model_tables(found: Models) -> list[Table]:
    """A table of PSIS-LOO and WAIC of each run, and one of the estimates of the log evidence."""
    made = []
    if found.loo:
        best = max(found.loo, key=lambda name: found.loo[name].elpd)
        rows: list[list[Any]] = []
        for name, one in found.loo.items():
            apart, error = one.minus(found.loo[best]) if name != best else (0.0, None)
            waic = found.waic[name].elpd
            rows.append([name, one.elpd, one.error, apart, error, one.parameters, one.doubtful, waic])
        columns = ["run", "elpd", "± elpd", "to the best", "± of it", "p", "doubtful", "WAIC"]
        formats = dict.fromkeys(columns[1:], ",.1f") | {"doubtful": ".1%"}
        made.append(Table(columns, rows, "Leave-one-out cross-validation (PSIS-LOO).", formats, notes=NOTES))
    if found.estimates:
        rows = [[one.of, one.value, one.error, one.corrected] for one in found.estimates]
        columns = ["log evidence by", "not corrected", "±", "all copies"]
        caption = (
            f"In nats. Symmetries make {_power(found.log_copies)} copies of every mode. An estimate at one "
            f"mode counts one of them, so {found.log_copies:,.1f} nats are added, which assumes that copies "
            "hardly overlap. A ladder counts all copies by itself."
        )
        if found.too_few_rungs:
            caption += " The two estimates of the ladder differ by more than their errors: use more rungs."
        made.append(Table(columns, rows, caption, dict.fromkeys(columns[1:], ",.1f")))
    return made


def ladder_figure(rungs: Rungs) -> Figure:
    """The mean log likelihood of each rung; on a logarithmic axis where all are negative, as for classes."""
    falling = bool((rungs.means < 0).all())
    caption = (
        "The mean over draws at each power of the likelihood, from the prior (0) to the posterior (1). Rungs "
        f"are dense near the prior, so the axis shows the root of order {POWER} of the power. The log "
        "evidence is the area under this curve over the powers themselves. If the curve has a corner, use "
        "more rungs."
    )
    return figures.curves(
        {"mean over draws": (rungs.powers ** (1 / POWER), -rungs.means if falling else rungs.means)},
        f"power of the likelihood, its root of order {POWER}",
        "minus log likelihood (nats)" if falling else "log likelihood (nats)",
        "The log likelihood along the ladder",
        caption,
        log_y=falling,
    )


def estimates_figure(found: Models) -> Figure:
    """Every estimate, not corrected and with all copies of a mode counted."""
    rungs = "" if found.rungs is None else f", {len(found.rungs.powers)} rungs"
    named = {one.of.removesuffix(rungs): one for one in found.estimates}
    series = {
        "not corrected": {name: one.value for name, one in named.items()},
        "with all copies of a mode": {
            name: one.corrected for name, one in named.items() if one.copies is not None
        },
    }
    caption = (
        "An estimate at one mode counts one of its copies. With the log number of copies added it can be "
        "compared with a ladder, which counts all of them. This assumes that copies hardly overlap."
    )
    told = {name: values for name, values in series.items() if values}
    return figures.dots(told, "log evidence (nats)", "Estimates of the log evidence", caption)


def models_section(found: Models) -> Section:
    """The section about runs as models."""
    drawn: list[Table | Figure] = [] if found.rungs is None else [ladder_figure(found.rungs)]
    drawn += [estimates_figure(found)] if found.estimates else []
    lead = (
        "Leave-one-out predictions of the training points measure how well a model predicts. The log "
        "evidence measures how probable the training data are under the model and its prior. Higher is "
        "better for both, and a difference of one nat is a factor of e."
    )
    return Section("Which model?", lead, [*model_tables(found), *drawn])


def write_models(found: Models, runs: Mapping[str, Opened], path: Path) -> Path:
    """Write the page; returns its path."""
    parts = [f"{one.of}: {one.corrected:,.1f} nats" for one in found.estimates]
    told = (
        f"Log evidence, all copies counted: {'; '.join(parts)}." if parts else "No estimate of the evidence."
    )
    section = models_section(found)
    page.write(path, page.render(f"{', '.join(runs)} as models", told, [section], provenance(runs)))
    return path


def _power(log: float) -> str:
    return f"{math.exp(log):,.0f}" if log < 12 else f"10^{log / math.log(10):.1f}"
