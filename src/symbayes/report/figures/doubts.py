"""Figures of uncertainty: detection of out-of-distribution inputs, and of errors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Real
from matplotlib.axes import Axes

from symbayes.evaluate import Roc
from symbayes.report.contents import Figure
from symbayes.report.figures.calibration import diagonal
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
from symbayes.report.figures.canvas import shown as drawable
from symbayes.report.words import listed

Scores = tuple[Real[np.ndarray, " _inside"], Real[np.ndarray, " _outside"]]
"""Uncertainty at the test inputs, and at out-of-distribution inputs."""
MOST = 3
"""The most runs whose histograms are drawn."""
BINS = 30


def detection(
    scores: Mapping[str, Scores], curves: Mapping[str, Roc], areas: Mapping[str, float], of: str
) -> Figure:
    """Detected out-of-distribution inputs against false alarms; below, both histograms of the uncertainty."""
    kept, dropped = {}, 0
    for name, pair in scores.items():
        ((inside,), first), ((outside,), second) = (finite(part) for part in pair)
        kept[name], dropped = (inside, outside), dropped + first + second
    drawn = list(kept)[:MOST]
    with sheet(3.3 + 1.25 * len(drawn)) as drawing:
        panels = drawing.subplots(len(drawn) + 1, 1, squeeze=False, height_ratios=[2.6, *(1 for _ in drawn)])
        top, rows = panels[0, 0], list(panels[1:, 0])
        handles = []
        for index, curve in enumerate(curves.values()):
            ink = pen(index)
            handles += top.plot(curve.false, curve.true, color=ink.color, linestyle=ink.linestyle)
        line = diagonal(top)
        percent = np.linspace(0, 1, 6)
        for ticks in (top.set_xticks, top.set_yticks):
            ticks(percent, [f"{100 * p:.0f}" for p in percent])
        top.set(xlabel="test inputs flagged (%)", ylabel="out-of-distribution inputs flagged (%)")
        for index, (axes, name) in enumerate(zip(rows, drawn, strict=True)):
            inside, outside = kept[name]
            _histograms(axes, inside, outside, index, name)
        if rows:
            rows[-1].set_xlabel("doubt")
        names = [f"{name} (AUROC {areas[name]:.3f})" for name in curves]
        legend(drawing, handles + line, [*names, "chance"], columns=1)
        svg = to_svg(drawing)
    caption = (
        f"A run whose curve is high on the left detects inputs of {of} well by its uncertainty. Below are "
        "histograms of the uncertainty at test inputs (area) and at the others (line): the less they "
        "overlap, the better." + left_out(dropped)
    )
    return Figure(
        f"Out-of-distribution inputs: {of}",
        svg,
        caption,
        f"Receiver operating characteristic of {listed(names)}.",
    )


def _histograms(axes: Axes, inside: np.ndarray, outside: np.ndarray, index: int, name: str) -> None:
    ink, both = pen(index), np.concatenate([inside, outside])
    axes.set_title(drawable(name), fontsize=9)
    if both.size == 0:
        blank(axes)
        return
    low, high = float(both.min()), float(both.max())
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1).tolist()
    axes.hist(inside, edges, color=ink.color, alpha=0.3)
    axes.hist(outside, edges, color=ink.color, histtype="step", linewidth=1.4)
    log_counts(axes)
    axes.set_ylabel("inputs")


def risk_coverage(curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """The share of errors among the most certain predictions, against the share kept, per method."""
    with sheet(3.3) as drawing:
        axes = drawing.add_subplot()
        handles, names = [], []
        for index, (name, (coverage, risk)) in enumerate(curves.items()):
            ink = pen(index)
            (coverage, risk), _ = finite(coverage, risk)
            if coverage.size == 0:
                continue
            handles += axes.plot(coverage, 100 * risk, color=ink.color, linestyle=ink.linestyle)
            axes.plot(coverage[-1], 100 * risk[-1], color=ink.color, marker=ink.marker, clip_on=False)
            names.append(name)
        if not handles:
            blank(axes)
        else:
            percent = np.linspace(0, 1, 6)
            axes.set_xticks(percent, [f"{100 * p:.0f}" for p in percent])
            axes.set_ylim(bottom=0)
            axes.axhline(5, color=SOFT, linewidth=1, linestyle=":")
        axes.set(
            xlabel="predictions kept, most certain first (%)", ylabel="errors among them (%)", xlim=(0, 1.01)
        )
        legend(drawing, handles, names)
        svg = to_svg(drawing)
    caption = (
        "The curve of a model stays low until the end if its errors are among its least certain predictions. "
        "At the right all predictions are kept. The dotted line marks 5% errors."
    )
    return Figure("Risk and coverage", svg, caption, f"Share of errors against coverage of {listed(names)}.")
