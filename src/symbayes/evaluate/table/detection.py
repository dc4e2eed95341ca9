"""Rows of the table: whether inputs from elsewhere are told from those of the test set."""

from symbayes.evaluate.detection import auroc, fpr
from symbayes.evaluate.metric import CLASSES, REALS, Metric

DETECTION: tuple[Metric, ...] = (
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
