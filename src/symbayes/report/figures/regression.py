"""Figures of real targets: predicted against true, intervals, and probability integral transforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Real
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import (
    SHADE,
    SOFT,
    blank,
    finite,
    left_out,
    legend,
    pen,
    sheet,
    short,
    to_svg,
)
from symbayes.report.words import listed

MOST = 400
"""The most points that are drawn; of more, evenly spaced ones are drawn."""
BARS = 120
"""The most intervals that are drawn side by side."""
BINS = 20
MISSED = "#B3001B"


@dataclass(frozen=True, eq=False)
class Predicted:
    """True values, predicted means and both ends of an interval, each (n,)."""

    true: Real[np.ndarray, " n"]
    mean: Real[np.ndarray, " n"]
    low: Real[np.ndarray, " n"]
    high: Real[np.ndarray, " n"]

    def kept(self) -> tuple[Predicted, int]:
        """The finite points, and the number of others."""
        arrays, dropped = finite(self.true, self.mean, self.low, self.high)
        return Predicted(*arrays), dropped

    def some(self, most: int) -> Predicted:
        """At most `most` points, evenly spaced in the order of the means."""
        order = np.argsort(self.mean, kind="stable")
        if len(order) > most:
            order = order[np.linspace(0, len(order) - 1, most).astype(int)]
        return Predicted(self.true[order], self.mean[order], self.low[order], self.high[order])


def draw_predicted(axes: Axes, points: Predicted, index: int = 0) -> Line2D:
    """Draw means and intervals against true values, with the diagonal; returns the handle of the points."""
    ink, some = pen(index), points.some(MOST)
    axes.vlines(some.true, some.low, some.high, color=ink.color, linewidth=0.8, alpha=0.25)
    (handle,) = axes.plot(
        some.true, some.mean, color=ink.color, linestyle="none", marker=ink.marker, markersize=3, alpha=0.8
    )
    ends = [float(points.true.min()), float(points.true.max())]
    axes.plot(ends, ends, color=SOFT, linewidth=1, linestyle=":", zorder=1)
    axes.set(xlabel="true", ylabel="predicted")
    return handle


def draw_intervals(axes: Axes, points: Predicted) -> None:
    """Draw intervals side by side in the order of their means; targets outside their interval are marked."""
    some = points.some(BARS)
    place, ink = np.arange(len(some.true)), pen(0)
    inside = (some.true >= some.low) & (some.true <= some.high)
    axes.vlines(place, some.low, some.high, color=ink.color, linewidth=1.6, alpha=0.35)
    axes.plot(place, some.mean, color=ink.color, linewidth=1, label="mean and interval")
    for which, colour, marker, name in (
        (inside, "#1d2126", ".", "target"),
        (~inside, MISSED, "x", "outside"),
    ):
        axes.plot(
            place[which],
            some.true[which],
            color=colour,
            linestyle="none",
            marker=marker,
            markersize=4,
            label=f"{name} ({which.sum():,})",
        )
    axes.set(xlabel="test examples, by predicted mean", ylabel="target", xticks=[])


def draw_pit(axes: Axes, values: np.ndarray, index: int = 0) -> Line2D:
    """Draw the frequency of each probability below the target, relative to the expected one."""
    bins = min(BINS, max(5, len(values) // 10))
    ink, edges = pen(index), np.linspace(0, 1, bins + 1)
    counts, _ = np.histogram(np.clip(values, 0, 1), edges)
    heights = counts * bins / max(1, len(values))
    axes.stairs(heights, edges, color=ink.color, linestyle=ink.linestyle, linewidth=1.4)
    if index == 0:
        from scipy.stats import binom

        band = binom.ppf([0.025, 0.975], len(values), 1 / bins) * bins / max(1, len(values))
        axes.axhspan(float(band[0]), float(band[1]), color=SHADE, zorder=0)
        axes.axhline(1, color=SOFT, linewidth=1, linestyle=":", zorder=1)
    axes.set(xlabel="probability below the target", ylabel="relative frequency", xlim=(0, 1))
    axes.set_ylim(bottom=0)
    return axes.plot([], [], color=ink.color, linestyle=ink.linestyle)[0]


def _short_numbers(*axes: Axis) -> None:
    """Few numbers on an axis, and short ones: targets may be of any size."""
    for axis in axes:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value, 1e4)))


def predicted_against_true(series: Mapping[str, Predicted], level: float, unit: str = "") -> Figure:
    """Predicted means with their intervals against true values, per method."""
    with sheet(3.8) as drawing:
        axes, handles, names, dropped = drawing.add_subplot(), [], [], 0
        for index, (name, points) in enumerate(series.items()):
            kept, missing = points.kept()
            dropped += missing
            if len(kept.true):
                handles.append(draw_predicted(axes, kept, index))
                names.append(name)
        if not handles:
            blank(axes)
        axes.set(xlabel=f"true {unit}".strip(), ylabel=f"predicted {unit}".strip())
        _short_numbers(axes.xaxis, axes.yaxis)
        legend(drawing, handles, names)
        svg = to_svg(drawing)
    caption = (
        f"Means over draws, with central {level:.0%} intervals as bars. Points on the dotted diagonal are "
        "correct. If the cloud is flatter than the diagonal, predictions shrink towards the mean of the "
        "training targets." + left_out(dropped)
    )
    return Figure("Predicted against true", svg, caption, f"Predicted against true targets: {listed(names)}.")


def sorted_intervals(name: str, points: Predicted, level: float, unit: str = "") -> Figure:
    """The intervals of one method, side by side, with the targets."""
    kept, dropped = points.kept()
    with sheet(3.2) as drawing:
        axes = drawing.add_subplot()
        if len(kept.true):
            draw_intervals(axes, kept)
            legend(drawing, *axes.get_legend_handles_labels(), columns=3)
        else:
            blank(axes)
        axes.set(ylabel=unit or "target")
        _short_numbers(axes.yaxis)
        svg = to_svg(drawing)
    shown = "" if len(kept.true) <= BARS else f" {BARS} of {len(kept.true):,} examples are shown."
    caption = (
        f"Central {level:.0%} intervals of {name} in the order of the predicted means. About "
        f"{1 - level:.0%} of the targets (crosses) should be outside.{shown}" + left_out(dropped)
    )
    return Figure("Intervals and targets", svg, caption, f"Intervals of {name} with targets, sorted by mean.")


def pit_histogram(transforms: Mapping[str, Real[np.ndarray, " _n"]]) -> Figure:
    """The probability integral transform of the targets, per method."""
    with sheet(2.9) as drawing:
        axes, handles, names, dropped = drawing.add_subplot(), [], [], 0
        for name, values in transforms.items():
            (kept,), missing = finite(values)
            dropped += missing
            if kept.size:
                handles.append(draw_pit(axes, kept, len(names)))
                names.append(name)
        if not handles:
            blank(axes)
        legend(drawing, handles, names)
        svg = to_svg(drawing)
    caption = (
        "The probability that a predictive gives to values below the target (its PIT). The histogram is flat "
        "if predictives are right, high at both ends if they are too narrow, high in the middle if they are "
        "too wide, and tilted if they are biased. The band holds 95% of the bins of a flat one."
        + left_out(dropped)
    )
    return Figure(
        "Probability integral transform", svg, caption, f"Histogram of PIT values: {listed(names)}."
    )
