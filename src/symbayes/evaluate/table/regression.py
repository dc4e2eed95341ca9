"""Rows of the table: how good predictions of real targets are."""

from symbayes.evaluate.metric import NORMALS, REALS, Metric
from symbayes.evaluate.regression import coverage, mixture_nll, rmse

LEVEL = 0.9
"""Probability of the intervals whose coverage is told."""

REGRESSION: tuple[Metric, ...] = (
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
)
