"""Rows of the table: whether stated probabilities of classes are met."""

from symbayes.evaluate.calibration import ace, classwise_ace, ece
from symbayes.evaluate.metric import CLASSES, Metric

CALIBRATION: tuple[Metric, ...] = (
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
)
