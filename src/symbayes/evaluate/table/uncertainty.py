"""Rows of the table: how unsure predictions are, and how much of it is disagreement between draws."""

from symbayes.evaluate.metric import CLASSES, Metric
from symbayes.evaluate.uncertainty import mean_entropy, mean_mutual_information

UNCERTAINTY: tuple[Metric, ...] = (
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
)
