"""Figures of compact distributions over weights: sigmas, pruning, and quality against size."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Real
from matplotlib.axes import Axes
from matplotlib.axis import XAxis
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullLocator

from symbayes.analyse.spread import moving
from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import (
    blank,
    finite,
    left_out,
    legend,
    log_ticks,
    pen,
    sheet,
    short,
    to_svg,
)
from symbayes.report.words import listed

Numbers = int | float | np.integer | np.floating | Real[np.ndarray, " _point"]
"""One number, or one for each point of a series."""

_ROUNDING = 1e-6
_SMALLEST = 1e-3
_SHARES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, _SMALLEST)


def sigma_histograms(values: Mapping[str, Real[np.ndarray, " _weight"]]) -> Figure:
    """Histograms of the standard deviations of the weights, on a logarithmic axis.

    A sigma of zero, or below a ten-thousandth of the largest, belongs to a weight that hardly moved, such as
    that of a pixel that is always black.  Such weights are counted in the caption and not drawn.
    """
    kept, dropped, still = {}, 0, 0
    for name, sigma in values.items():
        (known,), missing = finite(sigma)
        kept[name] = moving(known)
        dropped, still = dropped + missing, still + known.size - kept[name].size
    filled = {name: sigma for name, sigma in kept.items() if sigma.size}
    medians = {name: f"{name} (median {np.median(sigma):.3g})" for name, sigma in filled.items()}
    with sheet(3.1) as drawing:
        axes = drawing.add_subplot()
        if filled:
            legend(drawing, _sigmas(axes, kept), list(medians.values()))
        else:
            blank(axes)
        axes.set(xlabel="sigma of a weight over the draws (log scale)", ylabel="weights (%)")
        svg = to_svg(drawing)
    caption = (
        "Without alignment, symmetries spread every weight over the copies of a mode; aligned draws have "
        "smaller sigmas. Alignment shrinks the sigmas of pure noise too, so compare with the control."
    )
    alt = f"Histograms of the weights' sigma: {listed(list(medians.values()))}."
    return Figure("Sigma of the weights", svg, caption + unmoved(still) + left_out(dropped), alt)


def unmoved(count: int) -> str:
    """The sentence about weights that are not drawn; empty where there are none."""
    return f" {count:,} weight{'s' * (count > 1)} that hardly moved cannot be shown." if count else ""


def _sigmas(axes: Axes, kept: Mapping[str, np.ndarray]) -> list[StepPatch]:
    everything = np.concatenate(list(kept.values()))
    edges = np.geomspace(everything.min() / 1.05, 1.05 * everything.max(), 51)
    handles = []
    for index, sigma in enumerate(kept.values()):
        if sigma.size == 0:
            continue
        ink = pen(index)
        shares = 100 * np.histogram(sigma, edges)[0] / sigma.size
        axes.stairs(shares, edges, fill=True, color=ink.color, alpha=0.15)
        handles.append(axes.stairs(shares, edges, color=ink.color, linestyle=ink.linestyle, linewidth=1.4))
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    _plain_ticks(axes.xaxis, edges[0], edges[-1])
    return handles


def _plain_ticks(axis: XAxis, low: float, high: float) -> None:
    """Ticks on a logarithmic axis, written as plain numbers."""
    axis.set_major_locator(log_ticks(low, high))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def pruning_curve(
    series: Mapping[str, tuple[Real[np.ndarray, " _share"], Real[np.ndarray, " _share"]]],
) -> Figure:
    """Accuracy against the share of weights that are kept, ``(share kept, accuracy)`` per series."""
    dropped, handles, names = 0, [], []
    with sheet(3.1) as drawing:
        axes = drawing.add_subplot()
        for index, (name, (share, accuracy)) in enumerate(series.items()):
            if len(share) != len(accuracy):
                raise ValueError(
                    f"series {name!r} has {len(share)} shares for {len(accuracy)} accuracies; give as many"
                )
            (x, y), missing = finite(np.where(np.asarray(share) > 0, share, np.nan), accuracy)
            dropped += missing
            _require_shares(name, x, y)
            if x.size == 0:
                continue
            ink = pen(index)
            handles += axes.plot(
                100 * x, 100 * y, color=ink.color, linestyle=ink.linestyle, marker=ink.marker
            )
            names.append(name)
        if handles:
            axes.set_xscale("log")
            axes.invert_xaxis()
            drawn = np.concatenate([np.asarray(line.get_xdata(), np.float64) for line in handles])
            _plain_ticks(axes.xaxis, drawn.min(), max(drawn.max(), 1.01 * drawn.min()))
            legend(drawing, handles, names)
        else:
            blank(axes)
        axes.set(xlabel="weights kept (%, log scale)", ylabel="accuracy (%)")
        svg = to_svg(drawing)
    caption = (
        "The accuracy with only the best weights, from left to right fewer and fewer; the others are set to "
        "zero. The sigma of a weight shows how much it matters only after symmetries are removed."
        + left_out(dropped)
    )
    return Figure("Accuracy after pruning", svg, caption, f"Accuracy after pruning for {listed(names)}.")


def _require_shares(name: str, *values: np.ndarray) -> None:
    for shares in values:
        if np.any((shares < -_ROUNDING) | (shares > 1 + _ROUNDING)):
            raise ValueError(f"series {name!r} has values outside 0 to 1; give shares, not percentages")


def frontier(points: Mapping[str, tuple[Numbers, Numbers, Numbers]]) -> Figure:
    """Agreement and total variation against the bits stored, ``(bits, agreement, total variation)``.

    A name may have one point, or a series of them (a Gaussian of growing rank), joined by a line.  The axes
    are logarithmic in the disagreement and in the total variation, so that 98% and 99% can be told apart;
    values below a thousandth are drawn at a thousandth.
    """
    kept, dropped = {}, 0
    for name, numbers in points.items():
        bits, agreement, variation = (np.atleast_1d(np.asarray(n, np.float64)) for n in numbers)
        if not len(bits) == len(agreement) == len(variation):
            raise ValueError(
                f"series {name!r} needs as many agreements and total variations as numbers of bits"
            )
        kept[name], missing = finite(np.where(bits > 0, bits, np.nan), agreement, variation)
        dropped += missing
        _require_shares(name, *kept[name][1:])
    with sheet(5.4) as drawing:
        top, bottom = drawing.subplots(2, 1, sharex=True)
        if any(len(bits) for bits, _, _ in kept.values()):
            handles = _panel(top, {name: (bits, 1 - share) for name, (bits, share, _) in kept.items()})
            _panel(bottom, {name: (bits, distance) for name, (bits, _, distance) in kept.items()})
            _ticks_of_shares(top, lambda share: f"{100 * (1 - share):.3g}", "≥99.9")
            top.invert_yaxis()
            _ticks_of_shares(bottom, lambda share: f"{share:g}", "≤0.001")
            legend(drawing, list(handles.values()), list(handles))
        else:
            blank(top)
            blank(bottom)
        top.set(ylabel="agreement (%)")
        bottom.set(ylabel="total variation", xlabel="bits stored (log scale)")
        svg = to_svg(drawing)
    caption = (
        "Predictions compared with those of the reference draws. Agreement, the share of test points with "
        "the same class, is better if it is high; total variation, half the L1 distance, is better if it is "
        "low. Compare at equal numbers of bits." + left_out(dropped)
    )
    alt = "Agreement and total variation against bits stored. " + " ".join(
        f"{name}: " + "; ".join(_sentence(*point) for point in zip(*values, strict=True)) + "."
        for name, values in kept.items()
        if len(values[0])
    )
    return Figure("Quality against size", svg, caption, alt)


def _sentence(bits: float, agreement: float, variation: float) -> str:
    return f"{bits:,.0f} bits, {100 * agreement:.1f}% and {variation:.3f}"


def _panel(axes: Axes, series: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, Line2D]:
    """Draw shares from 0 to 1 on a logarithmic axis; returns the handles by name."""
    handles = {}
    for index, (name, (x, y)) in enumerate(series.items()):
        if x.size == 0:
            continue
        ink = pen(index)
        # Single points have no dash: after seven colours the marker must change to tell them apart.
        marker = pen(index + index // 7).marker
        order = np.argsort(x, kind="stable")
        (handles[name],) = axes.plot(
            x[order],
            np.maximum(y[order], _SMALLEST),
            color=ink.color,
            linestyle=ink.linestyle if x.size > 1 else "",
            marker=marker,
            markersize=6,
            alpha=0.85,
        )
    axes.set(xscale="log", yscale="log")
    axes.margins(0.08)
    low, high = axes.get_xlim()
    _plain_ticks(axes.xaxis, low, high)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    return handles


def _ticks_of_shares(axes: Axes, written: Callable[[float], str], smallest: str) -> None:
    """Let the axis end at ticks on both sides of the data, and write them."""
    low, high = axes.dataLim.intervaly
    ends = [
        max((share for share in _SHARES if share <= low), default=_SHARES[-1]),
        min((share for share in _SHARES if share >= high and share > low), default=_SHARES[0]),
    ]
    ticks = [share for share in _SHARES if ends[0] <= share <= ends[1]]
    axes.set_ylim(ends[0] / 1.15, ends[1] * 1.15)
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(
        FixedFormatter([smallest if tick == _SMALLEST else written(tick) for tick in ticks])
    )
    axes.yaxis.set_minor_locator(NullLocator())
