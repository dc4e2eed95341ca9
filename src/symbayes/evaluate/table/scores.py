"""Rows of the table: how good predictions of classes are."""

from symbayes.evaluate.metric import CLASSES, Metric
from symbayes.evaluate.predictions import accuracy, brier, nll

SCORES: tuple[Metric, ...] = (
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
)
