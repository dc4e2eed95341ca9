"""METRICS, the one table of numbers about predictions.

A row drives the comparison, the page, the command line, the reference and the tests.  A new metric is one
function of arrays and one row in a file of `table/` (and its independent twin among the tests' oracles).

A predictive is anything that has a `kind` and, as attributes, the arrays that a row takes.  For outputs with
positions every position of every example counts as a point, so that scores are means over both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from symbayes.evaluate.metric import NEEDS, OF_THE_PREDICTIVE, Kind, Metric, Need
from symbayes.evaluate.table.calibration import CALIBRATION
from symbayes.evaluate.table.closeness import CLOSENESS
from symbayes.evaluate.table.conformal import CONFORMAL
from symbayes.evaluate.table.detection import DETECTION
from symbayes.evaluate.table.regression import REGRESSION
from symbayes.evaluate.table.scores import SCORES, SELECTION
from symbayes.evaluate.table.uncertainty import UNCERTAINTY
from symbayes.specs import did_you_mean

METRICS: tuple[Metric, ...] = (
    *SCORES,
    *CALIBRATION,
    *REGRESSION,
    *CONFORMAL,
    *SELECTION,
    *UNCERTAINTY,
    *CLOSENESS,
    *DETECTION,
)

FORMATS: Mapping[str, str] = {row.name: row.format for row in METRICS}


def find(name: str, kind: Kind) -> Metric:
    """The row of this name for one kind of predictive."""
    rows = {row.name.lower(): row for row in METRICS if kind in row.kinds}
    if name.lower() in rows:
        return rows[name.lower()]
    names = [row.name for row in rows.values()]
    elsewhere = any(row.name.lower() == name.lower() for row in METRICS)
    what = f"the metric {name!r} is not for {kind}" if elsewhere else f"no metric is called {name!r}"
    raise ValueError(f"{what}{did_you_mean(name, names)}; there are {', '.join(names)}")


def chosen(
    kind: Kind, names: Sequence[str] | None, given: Collection[Need], positions: bool = False
) -> tuple[Metric, ...]:
    """The rows of these names, or those that are shown if nobody names any and what they need is given.

    `positions` says whether outputs have any.
    """
    met = {*OF_THE_PREDICTIVE, *given}
    if names is None:
        usual = (True, "positions") if positions else (True,)
        return tuple(
            row for row in METRICS if kind in row.kinds and row.shown in usual and {*row.needs} <= met
        )
    rows = tuple(dict.fromkeys(find(name, kind) for name in names))
    for row in rows:
        missing = [NEEDS[need] for need in row.needs if need not in met]
        if missing:
            raise ValueError(f"{row.name} needs {' and '.join(missing)}")
    return rows
