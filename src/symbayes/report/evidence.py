"""Tables of runs as models of their data."""

from __future__ import annotations

import math
from typing import Any

from symbayes.analyse.evidence import Models
from symbayes.report.contents import Table

NOTES = {
    "elpd": "expected log predictive density, summed over training points, in nats; higher is better",
    "p": "effective number of parameters",
    "doubtful": "share of points whose importance weights are not to be trusted, Pareto's k above 0.7",
}


def model_tables(found: Models) -> list[Table]:
    """PSIS-LOO and WAIC of each run; the estimates of the log evidence."""
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
        made.append(Table(columns, rows, "Left out one by one (PSIS-LOO).", formats, notes=NOTES))
    if found.estimates:
        rows = [[one.of, one.value, one.error, one.corrected] for one in found.estimates]
        columns = ["log evidence by", "as it is", "±", "all copies"]
        caption = (
            f"In nats. Symmetries make {_power(found.log_copies)} copies of every mode: an estimate at one "
            f"mode gains {found.log_copies:,.1f} nats, if copies hardly overlap; a ladder has counted them."
        )
        made.append(Table(columns, rows, caption, dict.fromkeys(columns[1:], ",.1f")))
    return made


def _power(log: float) -> str:
    return f"{math.exp(log):,.0f}" if log < 12 else f"10^{log / math.log(10):.1f}"
