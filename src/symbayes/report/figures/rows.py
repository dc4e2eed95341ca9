"""Rows of dots: one number for each name, with a line to compare with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import SOFT, blank, left_out, legend, pen, sheet, shown, to_svg


def dots(
    series: Mapping[str, Mapping[str, float]],
    xlabel: str,
    title: str,
    caption: str = "",
    mark: tuple[str, float] | None = None,
    log_x: bool = False,
) -> Figure:
    """One row per name and one dot per series, ``series[kind][name]``; `mark` is a line with its name.

    Rows are in the order of the first series, from the top.
    """
    names = list(dict.fromkeys(name for values in series.values() for name in values))
    places = {name: len(names) - 1 - number for number, name in enumerate(names)}
    handles, told, dropped = [], [], 0
    with sheet(0.9 + 0.27 * max(len(names), 2) + 0.2 * (len(series) > 1)) as drawing:
        axes = drawing.add_subplot()
        for index, (what, values) in enumerate(series.items()):
            drawable = {n: v for n, v in values.items() if np.isfinite(v) and (v > 0 or not log_x)}
            dropped += len(values) - len(drawable)
            if drawable:
                ink = pen(index)
                rows = [places[name] for name in drawable]
                handles += axes.plot(
                    list(drawable.values()), rows, color=ink.color, marker=ink.marker, linestyle=""
                )
                told.append(what)
        if not handles:
            blank(axes)
        else:
            if log_x:
                axes.set_xscale("log")
            axes.set_yticks(list(places.values()), [shown(name, 30) for name in names])
            axes.set_ylim(-0.6, len(names) - 0.4)
            if mark is not None and np.isfinite(mark[1]):
                line = axes.axvline(mark[1], color=SOFT, linewidth=1, linestyle=(0, (3, 2)))
                handles, told = [*handles, line], [*told, mark[0]]
            if len(handles) > 1:
                legend(drawing, handles, told)
        axes.set(xlabel=shown(xlabel))
        svg = to_svg(drawing)
    listed = "; ".join(
        f"{name} {', '.join(f'{values[name]:.4g}' for values in series.values() if name in values)}"
        for name in names
    )
    return Figure(title, svg, (caption + left_out(dropped)).strip(), f"Dots of {xlabel}: {listed}.")
