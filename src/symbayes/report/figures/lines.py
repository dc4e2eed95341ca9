"""Line plots: a loss per epoch, a barrier along a path."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Real

from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import (
    blank,
    finite,
    left_out,
    legend,
    log_ticks,
    pen,
    sheet,
    shown,
    to_svg,
)
from symbayes.report.words import listed

_MARKED = 25  # up to so many points each point gets a marker


def curves(
    series: Mapping[str, tuple[Real[np.ndarray, " _x"], Real[np.ndarray, " _y"]]],
    xlabel: str,
    ylabel: str,
    title: str,
    caption: str = "",
    log_y: bool = False,
    log_x: bool = False,
) -> Figure:
    """One line ``(x, y)`` per name; on a logarithmic axis only positive values can be drawn."""
    dropped = 0
    handles, names = [], []
    with sheet(3.1) as drawing:
        axes = drawing.add_subplot()
        for index, (name, (x, y)) in enumerate(series.items()):
            if len(x) != len(y):
                raise ValueError(f"curve {name!r} has {len(x)} x values for {len(y)} y values; give as many")
            (x, y), missing = finite(_drawable(x, log_x), _drawable(y, log_y))
            dropped += missing
            if len(x) == 0:
                continue
            ink = pen(index)
            marker = ink.marker if len(x) <= _MARKED else ""
            handles += axes.plot(x, y, color=ink.color, linestyle=ink.linestyle, marker=marker)
            names.append(name)
        if not handles:
            blank(axes)
        else:
            for logarithmic, axis, scale in ((log_y, axes.yaxis, "y"), (log_x, axes.xaxis, "x")):
                if logarithmic:
                    axes.set(**{f"{scale}scale": "log"})
                    axis.set_major_locator(log_ticks(*axis.get_view_interval()))
                    axis.set_major_formatter("{x:g}")
                    axis.set_minor_formatter("")
        axes.set(xlabel=shown(xlabel), ylabel=shown(ylabel))
        if len(series) > 1:
            legend(drawing, handles, names)
        svg = to_svg(drawing)
    alt = f"Line plot of {ylabel} against {xlabel} for {listed(names)}."
    return Figure(title, svg, (caption + left_out(dropped)).strip(), alt)


def _drawable(values: np.ndarray, logarithmic: bool) -> np.ndarray:
    return np.where(np.asarray(values) > 0, values, np.nan) if logarithmic else values
