"""Two predictive distributions compared at every test point."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import (
    SOFT,
    blank,
    left_out,
    legend,
    log_counts,
    pen,
    sheet,
    shown,
    to_svg,
)


def predictive_comparison(
    p: Float[np.ndarray, "point class"], q: Float[np.ndarray, "point class"], names: tuple[str, str]
) -> Figure:
    """The confidence of one method against that of another, and the total variation per test point.

    Agreement is the share of points with the same arg max; total variation is half the L1 distance.
    """
    if p.ndim != 2 or p.shape != q.shape:
        raise ValueError(f"p has shape {p.shape} and q {q.shape}; both need the same (point, class)")
    known = np.isfinite(p).all(axis=1) & np.isfinite(q).all(axis=1)
    p, q = p[known].astype(np.float64), q[known].astype(np.float64)
    first, second = (shown(name, 30) for name in names)
    with sheet(6.0) as drawing:
        top, bottom = drawing.subplots(2, 1, height_ratios=[2.4, 1])
        if len(p):
            same = p.argmax(axis=1) == q.argmax(axis=1)
            distance = 0.5 * np.abs(p - q).sum(axis=1)
            _confidences(top, p.max(axis=1), q.max(axis=1), same)
            legend(
                drawing,
                list(top.collections),
                [f"same class ({same.sum():,})", f"other class ({(~same).sum():,})"],
            )
            _distances(bottom, distance)
            numbers = f"Both predict the same class for {100 * same.mean():.2f}% of the points; "
            numbers += f"the mean total variation is {distance.mean():.4f}."
        else:
            blank(top)
            blank(bottom)
            numbers = "There are no points to compare."
        top.set(xlabel=f"confidence of {first} (%)", ylabel=f"confidence of {second} (%)")
        bottom.set(ylabel="points")
        svg = to_svg(drawing)
    caption = (
        f"Each dot is a test point. {numbers} For two perfect samplers of one posterior, all dots are on "
        "the diagonal." + left_out(int(np.sum(~known)))
    )
    alt = (
        f"Scatter of the confidence of {names[0]} and {names[1]}, and histogram of their distance. {numbers}"
    )
    return Figure(f"{names[0]} against {names[1]}", svg, caption, alt)


def _confidences(axes: Axes, first: np.ndarray, second: np.ndarray, same: np.ndarray) -> None:
    low = max(0.0, np.floor(10 * min(first.min(), second.min())) / 10 - 0.02)
    axes.plot([low, 1], [low, 1], color=SOFT, linewidth=1, linestyle=":", zorder=1)
    # Ten thousand circles would make megabytes of SVG: dots are drawn as pixels.
    axes.scatter(
        first[same],
        second[same],
        s=9,
        linewidths=0,
        color=pen(0).color,
        alpha=0.45,
        rasterized=True,
        zorder=2,
    )
    axes.scatter(
        first[~same],
        second[~same],
        s=22,
        linewidths=1.2,
        marker="x",
        color=pen(1).color,
        rasterized=True,
        zorder=3,
    )
    axes.set(xlim=(low, 1.02), ylim=(low, 1.02), aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")


def _distances(axes: Axes, distance: np.ndarray) -> None:
    ink = pen(2)
    counts, edges = np.histogram(distance, np.linspace(0, max(distance.max(), 0.01), 31))
    axes.stairs(counts, edges, fill=True, color=ink.color, alpha=0.6)
    axes.axvline(distance.mean(), color="black", linewidth=1.2, linestyle="--")
    axes.set_xlabel(f"total variation per point (dashed: mean {distance.mean():.4f})")
    log_counts(axes)
