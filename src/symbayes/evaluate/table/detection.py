"""Rows of the table: whether out-of-distribution inputs can be distinguished from those of the test set.

Every metric exists for every score: a name without a suffix uses the doubt, which is one minus the largest
mean probability for classes and the standard deviation for real targets.
"""

from dataclasses import replace

from symbayes.evaluate.detection import aupr_in, aupr_out, auroc, fpr
from symbayes.evaluate.metric import CLASSES, REALS, Metric

OTHER_SCORES = {
    "entropy": ("uncertainty", "the entropy of the mean prediction", "Hendrycks and Gimpel (2017)"),
    "MI": ("information", "the mutual information of label and draw", "Malinin and Gales (2018)"),
    "energy": (
        "energy",
        "the energy, minus the logsumexp of the logits, mean over draws",
        "Liu et al. (2020)",
    ),
}
"""Scores of classes other than the doubt: attribute of a predictive, what it is, where it comes from."""

BY_DOUBT: tuple[Metric, ...] = (
    Metric(
        name="AUROC",
        function=auroc,
        kinds=(*CLASSES, *REALS),
        takes=("doubt",),
        needs=("ood",),
        format=".3f",
        better="higher",
        paper="Hanley and McNeil (1982)",
        description="probability that an out-of-distribution input is doubted more than one of the test set",
    ),
    Metric(
        name="AUPR-out",
        function=aupr_out,
        kinds=(*CLASSES, *REALS),
        takes=("doubt",),
        needs=("ood",),
        format=".3f",
        better="higher",
        paper="Davis and Goadrich (2006)",
        description="average precision by the doubt, with out-of-distribution inputs as positives",
        shown=False,
    ),
    Metric(
        name="AUPR-in",
        function=aupr_in,
        kinds=(*CLASSES, *REALS),
        takes=("doubt",),
        needs=("ood",),
        format=".3f",
        better="higher",
        paper="Davis and Goadrich (2006)",
        description="average precision by the least doubt, with inputs of the test set as positives",
        shown=False,
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
        description="share of the test set doubted as much as 95% of the out-of-distribution inputs",
    ),
)


def _by(score: str, row: Metric) -> Metric:
    attribute, words, paper = OTHER_SCORES[score]
    needs = {"MI": ("draws",), "energy": ("logits",)}.get(score, ())
    return replace(
        row,
        name=f"{row.name}-{score}",
        kinds=CLASSES,
        takes=(attribute,),
        needs=("ood", *needs),
        paper=paper,
        description=f"{row.name} by {words}",
        shown=False,
    )


DETECTION: tuple[Metric, ...] = (*BY_DOUBT, *(_by(score, row) for score in OTHER_SCORES for row in BY_DOUBT))
