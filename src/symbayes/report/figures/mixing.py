"""Histograms of R-hat over weights and over predictions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Real
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import SOFT, blank, left_out, pen, sheet, shown, to_svg

_FLOOR = 1e-3  # R-hat below 1.001 is as good as one; estimates may even fall below one
_LIMITS = (1.01, 1.1)


def rhat_histograms(
    weight: Mapping[str, Real[np.ndarray, " _n"]], function: Mapping[str, Real[np.ndarray, " _m"]]
) -> Figure:
    """Histograms of R-hat over the weights (above) and over the predictions (below, if there are any).

    The axis is logarithmic in R-hat - 1, so that 1.01 and 1.1 can be told apart.  An infinite R-hat counts
    as above every limit; NaN (a constant) is left out.
    """
    values = [np.asarray(v, np.float64) for v in (*weight.values(), *function.values())]
    excess = [_excess(v) for v in values]
    largest = max((e[np.isfinite(e)].max(initial=0.2) for e in excess), default=0.2)
    edges = np.geomspace(_FLOOR, max(1.3 * largest, 0.3), 41)
    panels = [(weight, "weight space", "weights (%)")]
    if function:
        panels.append((function, "function space", "predictions (%)"))
    # Each panel has a legend above it: three lines of it fit, and each one more needs room of its own.
    lines = sum(max(len(series) - 3, 0) for series, _, _ in panels)
    with sheet(0.6 + 2.2 * len(panels) + 0.19 * lines) as drawing:
        column = drawing.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (series, space, ylabel) in zip(column, panels, strict=True):
            _histogram(axes, series, edges, space if function else "")
            axes.set(ylabel=ylabel)
        column[-1].set(xlabel="R-hat (log scale of R-hat − 1)")
        svg = to_svg(drawing)
    dropped = sum(int(np.sum(np.isnan(v))) for v in values)
    caption = (
        "R-hat near 1 means that chains agree. Chains with the same predictions may have different weights, "
        "since the units of a network can be reordered: compare the two panels." + left_out(dropped)
    )
    alt = "Histograms of R-hat. " + " ".join(
        f"In {space} space: {_shares(series)}."
        for space, series in (("weight", weight), ("function", function))
        if series
    )
    return Figure("R-hat of weights and of predictions", svg, caption, alt)


def _excess(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)] - 1


def _share_below(values: np.ndarray) -> float:
    return 100 * float(np.mean(values[~np.isnan(values)] < _LIMITS[1]))


def _shares(series: Mapping[str, np.ndarray]) -> str:
    parts = [
        f"{name} {_share_below(np.asarray(values, np.float64)):.1f}% below 1.1"
        for name, values in series.items()
        if not np.isnan(values).all()
    ]
    return "; ".join(parts) or "no values"


def _histogram(axes: Axes, series: Mapping[str, np.ndarray], edges: np.ndarray, title: str) -> None:
    handles, names = [], []
    for index, (name, raw) in enumerate(series.items()):
        excess = _excess(np.asarray(raw, np.float64))
        if excess.size == 0:
            continue
        counts, _ = np.histogram(np.clip(excess, edges[0], edges[-1]), edges)
        ink = pen(index)
        shares = 100 * counts / excess.size
        axes.stairs(shares, edges, fill=True, color=ink.color, alpha=0.15)
        handles.append(axes.stairs(shares, edges, color=ink.color, linestyle=ink.linestyle, linewidth=1.4))
        names.append(f"{shown(name, 24)}: {_share_below(excess + 1):.1f}% below 1.1")
    if not handles:
        axes.set_title(title)
        blank(axes)
        return
    axes.set_xscale("log")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)
    ticks = [tick for tick in (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3) if tick <= edges[-1]]
    labels = ["≤1.001", "1.01", "1.1", "2", "11", "101", "1001"][: len(ticks)]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter(labels))
    axes.xaxis.set_minor_locator(NullLocator())
    for limit in _LIMITS:
        axes.axvline(limit - 1, color=SOFT, linewidth=1, linestyle=(0, (1, 1.5)))
    axes.legend(
        handles,
        names,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0,
        alignment="left",
        title=title or None,
    )
