"""Drawings from plain arrays, one function per figure; each returns a `symbayes.report.contents.Figure`.

A series has the same colour, dash and marker in every figure where it has the same number in the order of
series.  The functions are imported when they are first used, since matplotlib is slow to import.
"""

from typing import TYPE_CHECKING

from symbayes.lazy import lazily

if TYPE_CHECKING:
    from symbayes.report.figures.agreement import predictive_comparison
    from symbayes.report.figures.calibration import coverage_curves, entropy_histogram, reliability
    from symbayes.report.figures.canvas import as_pdf
    from symbayes.report.figures.compact import frontier, pruning_curve, sigma_histograms, unmoved
    from symbayes.report.figures.doubts import detection, risk_coverage
    from symbayes.report.figures.hexagons import densities
    from symbayes.report.figures.images import picture_grid, uncertain_images
    from symbayes.report.figures.landscape import barrier_curves
    from symbayes.report.figures.lines import curves
    from symbayes.report.figures.mixing import rhat_histograms
    from symbayes.report.figures.plane import loss_planes
    from symbayes.report.figures.regression import (
        Predicted,
        pit_histogram,
        predicted_against_true,
        sorted_intervals,
    )
    from symbayes.report.figures.rows import dots
    from symbayes.report.figures.scatter import points
    from symbayes.report.figures.trace import traces

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Predicted": "symbayes.report.figures.regression:Predicted",
        "as_pdf": "symbayes.report.figures.canvas:as_pdf",
        "barrier_curves": "symbayes.report.figures.landscape:barrier_curves",
        "coverage_curves": "symbayes.report.figures.calibration:coverage_curves",
        "curves": "symbayes.report.figures.lines:curves",
        "densities": "symbayes.report.figures.hexagons:densities",
        "detection": "symbayes.report.figures.doubts:detection",
        "dots": "symbayes.report.figures.rows:dots",
        "entropy_histogram": "symbayes.report.figures.calibration:entropy_histogram",
        "frontier": "symbayes.report.figures.compact:frontier",
        "loss_planes": "symbayes.report.figures.plane:loss_planes",
        "picture_grid": "symbayes.report.figures.images:picture_grid",
        "pit_histogram": "symbayes.report.figures.regression:pit_histogram",
        "points": "symbayes.report.figures.scatter:points",
        "predicted_against_true": "symbayes.report.figures.regression:predicted_against_true",
        "predictive_comparison": "symbayes.report.figures.agreement:predictive_comparison",
        "pruning_curve": "symbayes.report.figures.compact:pruning_curve",
        "reliability": "symbayes.report.figures.calibration:reliability",
        "rhat_histograms": "symbayes.report.figures.mixing:rhat_histograms",
        "risk_coverage": "symbayes.report.figures.doubts:risk_coverage",
        "sigma_histograms": "symbayes.report.figures.compact:sigma_histograms",
        "sorted_intervals": "symbayes.report.figures.regression:sorted_intervals",
        "traces": "symbayes.report.figures.trace:traces",
        "uncertain_images": "symbayes.report.figures.images:uncertain_images",
        "unmoved": "symbayes.report.figures.compact:unmoved",
    },
)

__all__ = [
    "Predicted",
    "as_pdf",
    "barrier_curves",
    "coverage_curves",
    "curves",
    "densities",
    "detection",
    "dots",
    "entropy_histogram",
    "frontier",
    "loss_planes",
    "picture_grid",
    "pit_histogram",
    "points",
    "predicted_against_true",
    "predictive_comparison",
    "pruning_curve",
    "reliability",
    "rhat_histograms",
    "risk_coverage",
    "sigma_histograms",
    "sorted_intervals",
    "traces",
    "uncertain_images",
    "unmoved",
]
