"""Figures of calibration: reliability diagrams, coverage curves and histograms of entropy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Real
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import (
    SOFT,
    blank,
    finite,
    left_out,
    legend,
    log_counts,
    pen,
    sheet,
    to_svg,
)
from symbayes.report.words import listed

Curve = tuple[Real[np.ndarray, " _bins"], Real[np.ndarray, " _bins"], Real[np.ndarray, " _bins"]]
"""Per bin: mean confidence, share of correct predictions, number of predictions."""


def reliability(curves: Mapping[str, Curve]) -> Figure:
    """Accuracy against confidence per bin, and below it the number of predictions with each confidence.

    The bars are 95% Wilson score intervals (Wilson 1927) of the accuracy in a bin.
    """
    kept: dict[str, list[np.ndarray]] = {}
    bins, dropped = 1, 0
    for name, (confidence, accuracy, count) in curves.items():
        if not len(confidence) == len(accuracy) == len(count):
            raise ValueError(f"curve {name!r} needs as many confidences and accuracies as counts")
        filled = np.asarray(count) > 0
        bins = max(bins, len(filled))
        kept[name], missing = finite(confidence[filled], accuracy[filled], count[filled])
        dropped += missing
    with sheet(4.9) as drawing:
        top, bottom = drawing.subplots(2, 1, sharex=True, height_ratios=[2.6, 1])
        handles = []
        for index, (confidence, accuracy, count) in enumerate(kept.values()):
            handles.append(draw_reliability(top, confidence, accuracy, count, index, len(kept)))
            _counts(bottom, confidence, count, bins, index)
        line = diagonal(top)
        top.set(ylabel="accuracy (%)", xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
        percent = np.linspace(0, 1, 6)
        top.set_yticks(percent, [f"{100 * p:.0f}" for p in percent])
        bottom.set_xticks(percent, [f"{100 * p:.0f}" for p in percent])
        bottom.set(ylabel="predictions", xlabel="confidence (%)")
        if any(len(count) for _, _, count in kept.values()):
            log_counts(bottom)
        else:
            blank(top)
            blank(bottom)
        legend(drawing, handles + line, [*kept, "perfectly calibrated"])
        svg = to_svg(drawing)
    caption = (
        "On the dotted diagonal, predictions with a confidence of 80% are correct 80% of the time; below it "
        "a method is overconfident, above it underconfident. Bars are 95% intervals. The lower panel (log "
        "scale) shows the number of predictions; bins with few of them say little." + left_out(dropped)
    )
    return Figure("Reliability", svg, caption, f"Reliability diagram of {listed(list(kept))}.")


def draw_reliability(
    axes: Axes, confidence: np.ndarray, accuracy: np.ndarray, count: np.ndarray, index: int, methods: int
) -> Line2D:
    """Draw accuracy and its interval against confidence; returns the handle of the line."""
    ink = pen(index)
    low, high = _wilson(accuracy, count)
    shift = 0.006 * (index - (methods - 1) / 2)  # so that the bars of methods do not hide one another
    axes.vlines(confidence + shift, low, high, color=ink.color, linewidth=1, alpha=0.4)
    return axes.plot(
        confidence + shift, accuracy, color=ink.color, linestyle=ink.linestyle, marker=ink.marker, zorder=3
    )[0]


def diagonal(axes: Axes) -> list[Line2D]:
    """Draw the diagonal once, however many series there are; returns its handle."""
    for line in axes.lines:
        if line.get_gid() == "diagonal":
            return [line]
    return axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1, linestyle=":", zorder=1, gid="diagonal")


def _wilson(share: np.ndarray, count: np.ndarray, z: float = 1.96) -> tuple[np.ndarray, np.ndarray]:
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return centre - half, centre + half


def _counts(axes: Axes, confidence: np.ndarray, count: np.ndarray, bins: int, index: int) -> None:
    ink = pen(index)
    edges = np.arange(bins + 1) / bins
    axes.stairs(
        _heights(confidence, count, edges),
        edges,
        color=ink.color,
        linestyle=ink.linestyle,
        linewidth=1.3,
        baseline=None,
    )


def _heights(confidence: np.ndarray, count: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Predictions per equal-width bin, closed on the right as in `symbayes.evaluate.reliability`."""
    return np.bincount(np.digitize(confidence, edges[1:-1], right=True), count, minlength=len(edges) - 1)


def entropy_histogram(values: Mapping[str, Real[np.ndarray, " _n"]], log_count: bool = True) -> Figure:
    """Histograms of the entropy of the predictive distribution (nats) over the inputs, per set or method."""
    kept, dropped = {}, 0
    for name, entropies in values.items():
        (kept[name],), missing = finite(entropies)
        dropped += missing
    largest = max((entropies.max(initial=0.0) for entropies in kept.values()), default=0.0)
    edges = np.linspace(0, 1.001 * largest if largest > 0 else 1.0, 31)
    with sheet(3.1) as drawing:
        axes = drawing.add_subplot()
        handles, names = [], []
        for index, (name, entropies) in enumerate(kept.items()):
            if entropies.size == 0:
                continue
            handles.append(draw_entropies(axes, entropies, edges, index))
            names.append(f"{name} (mean {entropies.mean():.3f})")
        if not handles:
            blank(axes)
        elif log_count:
            log_counts(axes)
        axes.set(xlabel="predictive entropy (nats)", ylabel="number of inputs")
        legend(drawing, handles, names)
        svg = to_svg(drawing)
    caption = (
        "An entropy of zero means certainty. Inputs that are hard or unlike the training data should be on "
        "the right." + left_out(dropped)
    )
    return Figure("Predictive entropy", svg, caption, f"Histogram of predictive entropy: {listed(names)}.")


def draw_entropies(axes: Axes, entropies: np.ndarray, edges: np.ndarray, index: int = 0) -> StepPatch:
    """Draw a histogram as an outline over a faint area; returns the handle of the outline."""
    ink = pen(index)
    counts, _ = np.histogram(np.maximum(entropies, 0.0), edges)
    axes.stairs(counts, edges, color=ink.color, alpha=0.12, fill=True)
    return axes.stairs(counts, edges, color=ink.color, linestyle=ink.linestyle, linewidth=1.4)


def draw_coverage(axes: Axes, transforms: np.ndarray, index: int = 0) -> Line2D:
    """Draw the share of targets in the central interval of every probability; returns the line's handle."""
    ink, levels = pen(index), np.linspace(0, 1, 51)
    needed = np.sort(2 * np.abs(transforms - 0.5))
    inside = np.searchsorted(needed, levels, side="right") / needed.size
    return axes.plot(levels, inside, color=ink.color, linestyle=ink.linestyle)[0]


def coverage_curves(transforms: Mapping[str, Real[np.ndarray, " _n"]]) -> Figure:
    """The share of targets in the central interval of every probability, per method.

    ``transforms`` hold the predicted probability of a value below the target (`evaluate.mixture_cdf`): a
    target lies in the central interval of probability p if this is within p/2 of one half.
    """
    kept, dropped = {}, 0
    for name, values in transforms.items():
        (kept[name],), missing = finite(values)
        dropped += missing
    with sheet(3.4) as drawing:
        axes = drawing.add_subplot()
        handles, names = [], []
        for index, (name, values) in enumerate(kept.items()):
            if values.size == 0:
                continue
            handles.append(draw_coverage(axes, values, index))
            names.append(name)
        line = diagonal(axes)
        if not handles:
            blank(axes)
        percent = np.linspace(0, 1, 6)
        for ticks in (axes.set_xticks, axes.set_yticks):
            ticks(percent, [f"{100 * p:.0f}" for p in percent])
        axes.set(xlabel="probability of the interval (%)", ylabel="targets inside (%)")
        legend(drawing, handles + line, [*names, "perfectly calibrated"])
        svg = to_svg(drawing)
    caption = (
        "On the dotted diagonal, 90% of the targets lie in the central 90% intervals; below it a method is "
        "overconfident, above it underconfident." + left_out(dropped)
    )
    alt = f"Coverage of central intervals against their probability: {listed(names)}."
    return Figure("Coverage", svg, caption, alt)
