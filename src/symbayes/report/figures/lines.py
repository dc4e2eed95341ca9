"""Line plots: a loss per epoch, a barrier along a path."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Real
from matplotlib.ticker import LogLocator

from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import blank, finite, left_out, legend, pen, sheet, shown, to_svg
from symbayes.report.words import listed

_MARKED = 25  # up to so many points each point gets a marker


def curves(
    series: Mapping[str, tuple[Real[np.ndarray, " _x"], Real[np.ndarray, " _y"]]],
    xlabel: str,
    ylabel: str,
    title: str,
    caption: str = "",
    log_y: bool = False,
) -> Figure:
    """One line ``(x, y)`` per name; on a logarithmic axis only positive values can be drawn."""
    dropped = 0
    handles, names = [], []
    with sheet(3.1) as drawing:
        axes = drawing.add_subplot()
        for index, (name, (x, y)) in enumerate(series.items()):
            if len(x) != len(y):
                raise ValueError(f"curve {name!r} has {len(x)} x values for {len(y)} y values; give as many")
            (x, y), missing = finite(x, np.where(np.asarray(y) > 0, y, np.nan) if log_y else y)
            dropped += missing
            if len(x) == 0:
                continue
            ink = pen(index)
            marker = ink.marker if len(x) <= _MARKED else ""
            handles += axes.plot(x, y, color=ink.color, linestyle=ink.linestyle, marker=marker)
            names.append(name)
        if not handles:
            blank(axes)
        elif log_y:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("")
        axes.set(xlabel=shown(xlabel), ylabel=shown(ylabel))
        if len(series) > 1:
            legend(drawing, handles, names)
        svg = to_svg(drawing)
    alt = f"Line plot of {ylabel} against {xlabel} for {listed(names)}."
    return Figure(title, svg, (caption + left_out(dropped)).strip(), alt)
