"""Compare runs in batches of examples, where the predictions of all draws do not fit in memory together.

For each batch, all runs predict, the statistics of the metrics are updated, and the predictions are dropped.
The numbers are those of all examples at once, up to rounding.  Intervals are computed for means over examples
and for the detection of out-of-distribution inputs; other metrics have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from symbayes.analyse.columns import Column, Told, close_to_reference, columns_of, rows_of, table
from symbayes.analyse.comparison import Comparison
from symbayes.analyse.predicted import Judged, Places
from symbayes.data import Scaling
from symbayes.engine import Opened
from symbayes.evaluate import RunningMetrics, bootstrap
from symbayes.evaluate.metric import Argument, Need
from symbayes.posterior import Predictive

MEMORY = 8e9
"""The most bytes of all predictions; a constant, so that a table does not depend on the machine."""
WORKING = 4
"""Bytes in all for each byte of predictions: metrics are computed in float64."""

Running = dict[Column, RunningMetrics]


def fitting_batch(runs: Mapping[str, Opened], places: Places) -> int | None:
    """The number of examples to predict at once; None where all predictions fit."""
    each = 0
    for run in runs.values():
        outputs = jax.eval_shape(run.network.apply, run.variables, run.example).shape
        each += 4 * WORKING * run.draws.chains * len(run.draws) * int(np.prod(outputs[1:]))
    if each * places.examples <= MEMORY:
        return None
    return max(1, int(MEMORY / (each * (1 + len(places.shifted)))))


def compare_in_batches(
    runs: Mapping[str, Opened],
    reference: str,
    places: Places,
    size: int,
    scaling: Scaling | None = None,
    *,
    metrics: Sequence[str] | None = None,
    intervals: bool = True,
) -> Comparison:
    """The comparison of runs at these places, `size` examples at a time."""
    held_out = {name: places.held_out(run) for name, run in runs.items()}
    running: dict[str, Running] = {}
    ceiling: Running = {}
    columns: list[Column] = []
    first: Judged | None = None
    notes: list[str] = []
    for part in places.in_batches(size):
        judged = {name: part.judge(run, held_out[name]).unscaled(scaling) for name, run in runs.items()}
        target, y = judged[reference], np.asarray(part.test.y)
        y = y if scaling is None else scaling.undo(y)
        halves = target.test.halves()
        if first is None:
            first = target
            rows = rows_of(target, len(runs) > 1 or halves is not None, bool(places.ood), metrics)
            columns = columns_of(rows, places.shifted, places.ood)
            running = {
                name: _init(columns, one, name != reference, intervals) for name, one in judged.items()
            }
            if halves is not None:
                ceiling = {c: RunningMetrics.init([c.metric], intervals) for c in close_to_reference(rows)}
            notes = [f"{name} is recalibrated: {one.note}." for name, one in judged.items() if one.note]
        for name, one in judged.items():
            running[name] = _updated(running[name], one, y, None if name == reference else target.test)
        if halves is not None:
            ceiling = _updated(ceiling, Judged(halves[0]), y, halves[1])
    assert first is not None
    for name, run in runs.items():
        for where, batch in _elsewhere(places, run, held_out[name], size, scaling):
            running[name] = _with_foreign(running[name], where, len(places.ood) > 1, batch)
    found = {name: _finished(one) for name, one in running.items()}
    notes.append(f"Predicted {size:,} examples at a time.")
    return table(found, _finished(ceiling), columns, first, reference, len(places.test), notes, intervals)


def _init(columns: Sequence[Column], judged: Judged, with_reference: bool, intervals: bool) -> Running:
    """The initial statistics of those columns that are defined for a run."""
    there: dict[Need, bool] = {
        "targets": True,
        "ood": True,
        "reference": with_reference,
        "validation": judged.validation is not None,
    }
    given: list[Need] = [need for need, found in there.items() if found]
    return {
        column: RunningMetrics.init([column.metric], intervals)
        for column in columns
        if column.metric.possible(column.predictive(judged), given)
    }


def _updated(running: Running, judged: Judged, y: np.ndarray, reference: Predictive | None) -> Running:
    return {
        column: one.update(column.predictive(judged), y, reference, validation=judged.validation)
        for column, one in running.items()
    }


def _elsewhere(
    places: Places, run: Opened, held_out: Any, size: int, scaling: Scaling | None
) -> Iterator[tuple[str, Predictive]]:
    """The predictions of a run at out-of-distribution inputs, by the name of their set, in batches."""
    for where, x in places.ood.items():
        for start in range(0, len(x), size):
            batch = places.predict(run, x[start : start + size], held_out)
            yield where, batch if scaling is None else batch.unscaled(scaling)


def _with_foreign(running: Running, where: str, several: bool, batch: Predictive) -> Running:
    return {
        column: one.update(ood=batch)
        if "ood" in column.metric.needs and (column.ood == where or not several)
        else one
        for column, one in running.items()
    }


def _finished(running: Running) -> Told:
    found: Told = {}
    for column, one in running.items():
        row = column.metric
        spread, each = None, one.of_examples(row.name)
        if each is not None:
            spread = bootstrap.of_examples(row, each)
        elif one.intervals and "ood" in row.needs:
            inside, outside = row.told_of_batches.join(one.batches[0])
            scores = [Argument(inside, "test"), Argument(outside, "ood")]
            spread = bootstrap.replicates(row, scores)
        found[column.headed.name] = one.finish()[row.name], spread
    return found
