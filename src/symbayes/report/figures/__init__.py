"""Drawings from plain arrays, one function per figure; each gives a `symbayes.report.contents.Figure`.

A series has the same colour, dash and marker in every figure where it stands at the same place.
"""

from symbayes.report.figures.agreement import predictive_comparison
from symbayes.report.figures.calibration import coverage_curves, entropy_histogram, reliability
from symbayes.report.figures.compact import frontier, pruning_curve, sigma_histograms, unmoved
from symbayes.report.figures.images import picture_grid, uncertain_images
from symbayes.report.figures.landscape import barrier_curves
from symbayes.report.figures.lines import curves
from symbayes.report.figures.mixing import rhat_histograms
from symbayes.report.figures.trace import traces

__all__ = [
    "barrier_curves",
    "coverage_curves",
    "curves",
    "entropy_histogram",
    "frontier",
    "picture_grid",
    "predictive_comparison",
    "pruning_curve",
    "reliability",
    "rhat_histograms",
    "sigma_histograms",
    "traces",
    "uncertain_images",
    "unmoved",
]
