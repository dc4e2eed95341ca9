"""Scatter plots: one number against another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Real

from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import blank, finite, left_out, legend, pen, sheet, shown, to_svg
from symbayes.report.words import listed

MANY = 300
"""From this number of points on, they are drawn small and transparent."""


def points(
    series: Mapping[str, tuple[Real[np.ndarray, " _n"], Real[np.ndarray, " _n"]]],
    xlabel: str,
    ylabel: str,
    title: str,
    caption: str = "",
) -> Figure:
    """One mark for each pair ``(x, y)``, with one kind of mark for each name."""
    handles, names, dropped = [], [], 0
    with sheet(3.1) as drawing:
        axes = drawing.add_subplot()
        for index, (name, pair) in enumerate(series.items()):
            (x, y), missing = finite(*(np.asarray(values, float) for values in pair))
            dropped += missing
            if len(x) == 0:
                continue
            ink, dense = pen(index), len(x) >= MANY
            size, ink_alpha = (2, 0.3) if dense else (5, 0.9)
            handles += axes.plot(
                x, y, color=ink.color, marker=ink.marker, linestyle="", markersize=size, alpha=ink_alpha
            )
            names.append(name)
        if not handles:
            blank(axes)
        else:
            axes.locator_params(axis="x", nbins=6)
        axes.set(xlabel=shown(xlabel), ylabel=shown(ylabel))
        if len(series) > 1:
            legend(drawing, handles, names)
        svg = to_svg(drawing)
    alt = f"Points of {ylabel} against {xlabel} for {listed(names)}."
    return Figure(title, svg, (caption + left_out(dropped)).strip(), alt)
