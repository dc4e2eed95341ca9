"""METRICS, the one table of numbers about predictions.

A row drives the comparison, the page, the command line, the reference and the tests.  A new metric is one
function of arrays and one row here (and its independent twin among the tests' oracles).

A predictive is anything that has a `kind` and, as attributes, the arrays that a row takes.  For outputs with
positions every position of every example counts as a point, so that scores are means over both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from symbayes.evaluate.agreement import agreement, total_variation
from symbayes.evaluate.calibration import ace, classwise_ace, ece
from symbayes.evaluate.detection import auroc, fpr
from symbayes.evaluate.metric import NEEDS, Kind, Metric, Need
from symbayes.evaluate.mixtures import mean_distance, mixture_total_variation
from symbayes.evaluate.predictions import accuracy, brier, nll
from symbayes.evaluate.regression import coverage, mixture_nll, rmse
from symbayes.evaluate.uncertainty import mean_entropy, mean_mutual_information
from symbayes.specs import did_you_mean

LEVEL = 0.9
"""Probability of the intervals whose coverage is told."""

CLASSES: tuple[Kind, ...] = ("classes",)
REALS: tuple[Kind, ...] = ("reals",)
NORMALS = ("component_means", "component_scales")

METRICS: tuple[Metric, ...] = (
    Metric(
        name="accuracy",
        function=accuracy,
        kinds=CLASSES,
        takes=("mean",),
        needs=("targets",),
        format=".1%",
        better="higher",
        paper="",
        description="share of points whose most probable class is the label",
    ),
    Metric(
        name="NLL",
        function=nll,
        kinds=CLASSES,
        takes=("mean",),
        needs=("targets",),
        format=".3f",
        better="lower",
        paper="Good (1952)",
        description="mean negative log probability of the labels, in nats",
    ),
    Metric(
        name="Brier",
        function=brier,
        kinds=CLASSES,
        takes=("mean",),
        needs=("targets",),
        format=".3f",
        better="lower",
        paper="Brier (1950)",
        description="squared distance of probabilities from the label, summed over classes, from 0 to 2",
    ),
    Metric(
        name="ECE",
        function=ece,
        kinds=CLASSES,
        takes=("mean",),
        needs=("targets",),
        format=".3f",
        better="lower",
        paper="Guo et al. (2017)",
        description="gap of confidence and accuracy of the top label, in 15 bins of equal width",
    ),
    Metric(
        name="ACE",
        function=ace,
        kinds=CLASSES,
        takes=("mean",),
        needs=("targets",),
        format=".3f",
        better="lower",
        paper="Nixon et al. (2019)",
        description="gap of confidence and accuracy of the top label, in 15 bins of equal mass",
        shown=False,
    ),
    Metric(
        name="classwise-ACE",
        function=classwise_ace,
        kinds=CLASSES,
        takes=("mean",),
        needs=("targets",),
        format=".3f",
        better="lower",
        paper="Nixon et al. (2019)",
        description="gap of probability and frequency in bins of equal mass, mean over all classes",
        shown=False,
    ),
    Metric(
        name="RMSE",
        function=rmse,
        kinds=REALS,
        takes=("mean",),
        needs=("targets",),
        format=".4g",
        better="lower",
        paper="",
        description="root of the mean squared error of the mean prediction, in the units of the targets",
    ),
    Metric(
        name="NLL",
        function=mixture_nll,
        kinds=REALS,
        takes=NORMALS,
        needs=("targets",),
        format=".3f",
        better="lower",
        paper="Good (1952)",
        description="mean negative log density of a point's outputs under the mixture of all draws, in nats",
    ),
    Metric(
        name="coverage",
        function=coverage,
        kinds=REALS,
        takes=NORMALS,
        needs=("targets",),
        format=".1%",
        better=LEVEL,
        paper="Gneiting et al. (2007)",
        description="share of targets in the central 90% interval of the mixture of all draws",
    ),
    Metric(
        name="entropy",
        function=mean_entropy,
        kinds=CLASSES,
        takes=("mean",),
        needs=(),
        format=".3f",
        better=None,
        paper="Shannon (1948)",
        description="entropy of the mean prediction, in nats",
        shown=False,
    ),
    Metric(
        name="mutual-information",
        function=mean_mutual_information,
        kinds=CLASSES,
        takes=("each",),
        needs=("draws",),
        format=".3f",
        better=None,
        paper="Houlsby et al. (2011)",
        description="entropy of the mean prediction minus mean entropy of the draws, in nats",
        shown=False,
    ),
    Metric(
        name="agreement",
        function=agreement,
        kinds=CLASSES,
        takes=("mean",),
        needs=("reference",),
        format=".1%",
        better="higher",
        paper="Izmailov et al. (2021)",
        description="share of points with the same most probable class as the reference",
    ),
    Metric(
        name="TV",
        function=total_variation,
        kinds=CLASSES,
        takes=("mean",),
        needs=("reference",),
        format=".3f",
        better="lower",
        paper="Izmailov et al. (2021)",
        description="total variation distance from the reference: half the L1 distance, mean over points",
    ),
    Metric(
        name="mean-distance",
        function=mean_distance,
        kinds=REALS,
        takes=NORMALS,
        needs=("reference",),
        format=".3f",
        better="lower",
        paper="",
        description="root mean squared distance from the reference's means, in its standard deviations",
    ),
    Metric(
        name="TV",
        function=mixture_total_variation,
        kinds=REALS,
        takes=NORMALS,
        needs=("reference",),
        format=".3f",
        better="lower",
        paper="",
        description="total variation distance from the reference's density, mean over outputs",
    ),
    Metric(
        name="AUROC",
        function=auroc,
        kinds=(*CLASSES, *REALS),
        takes=("doubt",),
        needs=("ood",),
        format=".3f",
        better="higher",
        paper="Hanley and McNeil (1982)",
        description="probability that an input from elsewhere is doubted more than one of the test set",
    ),
    Metric(
        name="FPR95",
        function=fpr,
        kinds=(*CLASSES, *REALS),
        takes=("doubt",),
        needs=("ood",),
        format=".1%",
        better="lower",
        paper="Liang et al. (2018)",
        description="share of the test set doubted as much as 95% of the inputs from elsewhere",
    ),
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


def chosen(kind: Kind, names: Sequence[str] | None, given: Collection[Need]) -> tuple[Metric, ...]:
    """The rows of these names, or those that are shown if nobody names any and what they need is given."""
    if names is None:
        return tuple(
            row for row in METRICS if kind in row.kinds and row.shown and {*row.needs} <= {"draws", *given}
        )
    rows = tuple(dict.fromkeys(find(name, kind) for name in names))
    for row in rows:
        missing = [NEEDS[need] for need in row.needs if need not in ("draws", *given)]
        if missing:
            raise ValueError(f"{row.name} needs {' and '.join(missing)}")
    return rows
