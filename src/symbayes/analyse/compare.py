"""Compare runs: the accuracy and calibration of each, and how closely each agrees with a reference.

The ceiling of an agreement is that of one half of the reference's draws with the other half, split by chains
where there are several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from symbayes.analyse.columns import Column, Told, close_to_reference, columns_of, rows_of, table
from symbayes.analyse.comparison import CEILING, Comparison
from symbayes.analyse.in_batches import compare_in_batches, fitting_batch
from symbayes.analyse.predicted import Judged, Places
from symbayes.analyse.progress import Tell, silent
from symbayes.data import Dataset, Examples, Scaling
from symbayes.draws import Draws, Run
from symbayes.engine import Opened, Source, open_run
from symbayes.evaluate import Metric, bootstrap
from symbayes.evaluate.metric import Need
from symbayes.evaluate.metrics import chosen
from symbayes.posterior import Predictive
from symbayes.specs import require, require_kind

__all__ = ["CEILING", "Comparison", "compare", "compare_predictives", "measure", "opened_by_name"]


def compare(
    runs: Mapping[str, Source] | Sequence[Source] | Source,
    reference: str | None = None,
    on: Examples | Dataset | None = None,
    scaling: Scaling | None = None,
    *,
    metrics: Sequence[str] | None = None,
    ood: ArrayLike | Mapping[str, ArrayLike] | None = None,
    shift: str | Sequence[str] | None = None,
    validation: Examples | None = None,
    recalibrate: str | None = None,
    intervals: bool = True,
    batch: int | None = None,
) -> Comparison:
    """Compare runs on examples that none of them was trained on.

    Args:
        runs: folders, draws in memory as `run` gave them, or what `open` gave, by name; or a list of them, or
            a single one.
        reference: the name of the run with which the others are compared; by default the first.
        on: examples; or a dataset, whose test part and units of the targets are used.
        scaling: the dataset's `target_scaling` where its targets are standardised.
        metrics: names of rows of `evaluate.METRICS`; by default those that are usual for the kind of target.
        ood: out-of-distribution inputs, for the metrics that need them; or several sets of them by name.
        shift: names of shifts of images, such as fog, or fog:5 with its severity; scores are also computed
            on test images under each shift.
        validation: examples for recalibration and conformal metrics; by default the dataset's own part.
        recalibrate: temperature, vector, dirichlet or isotonic, fitted for each run on validation examples.
        intervals: whether to compute 95% intervals, by resampling the test examples.
        batch: number of examples to predict at once; by default all, or as many as fit in memory.
    """
    opened = opened_by_name(runs)
    require(len(opened) > 0, "a comparison is of at least one run")
    reference = next(iter(opened)) if reference is None else reference
    if not isinstance(reference, str):
        raise TypeError(
            f"the reference is the name of a run, not a value of type {type(reference).__name__}; examples "
            "are given by name, as in compare(runs, on=dataset)"
        )
    require(reference in opened, f"the reference {reference!r} is not among the runs {', '.join(opened)}")
    require_kind("what the runs are compared on", on, *_parts(on), example="dataset.test")
    assert on is not None
    if isinstance(on, Dataset):
        scaling = on.target_scaling if scaling is None else scaling
    places = Places.of(on, ood, shift, validation, recalibrate, metrics)
    require(batch is None or batch >= 1, f"batch is a number of examples, at least 1, not {batch}")
    batch = fitting_batch(opened, places) if batch is None else batch
    if batch is not None:
        options: Any = {"metrics": metrics, "intervals": intervals}
        return compare_in_batches(opened, reference, places, batch, scaling, **options)
    judged = {name: places.judge(run) for name, run in opened.items()}
    y = np.asarray(places.test.y)
    return compare_predictives(judged, reference, y, scaling, metrics=metrics, intervals=intervals)


def _parts(on: Any) -> tuple[str, ...]:
    return ("train", "test") if isinstance(on, Dataset) else ("x", "y")


def opened_by_name(runs: Mapping[str, Source] | Sequence[Source] | Source) -> dict[str, Opened]:
    """The opened runs, by the given names, or else by the names of their folders or methods."""
    if isinstance(runs, str | Path | Run | Draws | Opened):
        runs = [runs]
    if isinstance(runs, Mapping):
        return {name: open_run(run) for name, run in runs.items()}
    opened = [open_run(run) for run in runs]
    names = [run.method.lower() if run.path is None else run.path.resolve().name for run in opened]
    full = [
        name if names.count(name) == 1 else str(run.path or f"{name} {i + 1}")
        for i, (name, run) in enumerate(zip(names, opened, strict=True))
    ]
    return dict(zip(full, opened, strict=True))


def compare_predictives(
    predictives: Mapping[str, Predictive | Judged],
    reference: str,
    y: np.ndarray,
    scaling: Scaling | None = None,
    *,
    metrics: Sequence[str] | None = None,
    intervals: bool = True,
    tell: Tell = silent,
) -> Comparison:
    """The same from given predictives, at the test inputs or at all places."""
    judged = {name: one if isinstance(one, Judged) else Judged(one) for name, one in predictives.items()}
    target = judged[reference].test
    for name, one in judged.items():
        require(
            one.test.kind == target.kind,
            f"{name} predicts {one.test.kind}, but {reference} {target.kind}: compare runs of one kind",
        )
    halves = target.halves()
    rows = rows_of(
        judged[reference], len(judged) > 1 or halves is not None, bool(judged[reference].ood), metrics
    )
    columns = columns_of(rows, judged[reference].shifted, judged[reference].ood)
    told = y if scaling is None else scaling.undo(y)
    units = {name: one.unscaled(scaling) for name, one in judged.items()}
    found = {}
    for name, one in units.items():
        tell(f"{name}: {len(columns)} numbers{' and their intervals' if intervals else ''}")
        other = None if name == reference else units[reference].test
        found[name] = _told(one, told, columns, other, intervals)
    ceiling: Told = {}
    if halves is not None:
        first, second = (half if scaling is None else half.unscaled(scaling) for half in halves)
        ceiling = _told(Judged(first), told, close_to_reference(rows), second, intervals)
    notes = [f"{name} is recalibrated: {one.note}." for name, one in judged.items() if one.note]
    return table(found, ceiling, columns, judged[reference], reference, len(y), notes, intervals)


def _told(
    judged: Judged, y: np.ndarray, columns: Sequence[Column], reference: Predictive | None, intervals: bool
) -> Told:
    found: Told = {}
    for column in columns:
        row = column.metric
        predictive = column.predictive(judged)
        foreign = judged.ood.get(column.ood or next(iter(judged.ood), ""))
        others: dict[Need, Any] = {
            "targets": y,
            "validation": judged.validation,
            "reference": reference,
            "ood": foreign,
        }
        if row.possible(predictive, [need for need, value in others.items() if value is not None]):
            arguments = row.arguments(predictive, y, reference, foreign, judged.validation)
            value = float(row.function(*(one.values for one in arguments)))
            found[column.headed.name] = value, bootstrap.replicates(row, arguments) if intervals else None
    return found


def measure(
    predictive: Predictive,
    y: np.ndarray,
    scaling: Scaling | None = None,
    metrics: Sequence[Metric] | None = None,
    *,
    reference: Predictive | None = None,
    ood: Predictive | None = None,
) -> dict[str, float]:
    """The metrics of one predictive, in the targets' units before any `scaling`.

    A metric that is not defined is left out, as an agreement without a reference, or a metric of several
    draws for a predictive of one draw.
    """
    judged = Judged(predictive, {} if ood is None else {"elsewhere": ood}).unscaled(scaling)
    if scaling is not None:
        y, reference = scaling.undo(y), None if reference is None else reference.unscaled(scaling)
    there: dict[Need, bool] = {"targets": True, "reference": reference is not None, "ood": ood is not None}
    given: list[Need] = [need for need, found in there.items() if found]
    rows = chosen(predictive.kind, None, given, bool(predictive.positions)) if metrics is None else metrics
    told = _told(judged, y, [Column(row) for row in rows], reference, intervals=False)
    return {name: value for name, (value, _) in told.items()}
