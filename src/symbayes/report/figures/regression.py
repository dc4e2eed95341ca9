"""Real targets: predicted against true, intervals one by one, and where targets fall in their predictives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Real
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

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
    to_svg,
)
from symbayes.report.words import listed

MOST = 400
"""Points that are drawn; of more, evenly spaced ones stand for all."""
BARS = 120
"""Intervals that are drawn one beside the other."""
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
        """Those that are finite, and how many are not."""
        arrays, dropped = finite(self.true, self.mean, self.low, self.high)
        return Predicted(*arrays), dropped

    def some(self, most: int) -> Predicted:
        """At most so many, evenly spaced in the order of the means."""
        order = np.argsort(self.mean, kind="stable")
        if len(order) > most:
            order = order[np.linspace(0, len(order) - 1, most).astype(int)]
        return Predicted(self.true[order], self.mean[order], self.low[order], self.high[order])


def draw_predicted(axes: Axes, points: Predicted, index: int = 0) -> Line2D:
    """Means and intervals against true values, with the diagonal; gives the handle of the points."""
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
    """Intervals one beside the other in the order of their means; a target outside its own is marked."""
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
    """How often the predictive has this probability below the target, relative to what is expected."""
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
        legend(drawing, handles, names)
        svg = to_svg(drawing)
    caption = (
        f"Means over draws, with central {level:.0%} intervals as bars. Points on the dotted diagonal are "
        "right; a cloud flatter than it shrinks towards the mean of the training targets." + left_out(dropped)
    )
    return Figure("Predicted against true", svg, caption, f"Predicted against true targets: {listed(names)}.")


def sorted_intervals(name: str, points: Predicted, level: float, unit: str = "") -> Figure:
    """The intervals of one method, one beside the other, with the targets."""
    kept, dropped = points.kept()
    with sheet(3.2) as drawing:
        axes = drawing.add_subplot()
        if len(kept.true):
            draw_intervals(axes, kept)
            legend(drawing, *axes.get_legend_handles_labels(), columns=3)
        else:
            blank(axes)
        axes.set(ylabel=unit or "target")
        svg = to_svg(drawing)
    shown = "" if len(kept.true) <= BARS else f" {BARS} of {len(kept.true):,} examples are shown."
    caption = (
        f"Central {level:.0%} intervals of {name} in the order of its means. About {1 - level:.0%} of the "
        f"targets (crosses) should lie outside.{shown}" + left_out(dropped)
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
        "The probability that a predictive gives to values below the target (its PIT): level where "
        "predictives are right, high at both ends where they are too narrow, high in the middle where too "
        "wide, tilted where they are off to one side. The band holds 95% of the bins of a level one."
        + left_out(dropped)
    )
    return Figure("Where targets fall", svg, caption, f"Histogram of PIT values: {listed(names)}.")
