"""Figures read back from matplotlib's own objects, as they were when the drawing was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch
from matplotlib.text import Text

from symbayes.report.contents import Figure


@dataclass(frozen=True)
class Drawn:
    """A figure of the page, and the matplotlib figure that it was written from."""

    figure: Figure
    drawing: matplotlib.figure.Figure

    @property
    def axes(self) -> list[Axes]:
        return self.drawing.axes

    @property
    def legend(self) -> list[str]:
        """The entries of all legends, in order."""
        return [text.get_text() for legend in self.drawing.findobj(Legend) for text in legend.get_texts()]

    @property
    def texts(self) -> list[Text]:
        """Everything that can be read."""
        hidden = {id(text) for axes in self.axes for text in _beyond_the_limits(axes)}
        return [
            text
            for text in self.drawing.findobj(Text)
            if text.get_visible() and text.get_text().strip() and id(text) not in hidden
        ]


@contextmanager
def recorded() -> Iterator[list[matplotlib.figure.Figure]]:
    """Keep the matplotlib figures that are written meanwhile, in order."""
    saved: list[matplotlib.figure.Figure] = []
    save = matplotlib.figure.Figure.savefig

    def keep(self: matplotlib.figure.Figure, *args, **kwargs) -> None:
        save(self, *args, **kwargs)
        self.dpi = 72  # that of an SVG: what was placed in pixels stays where it was
        saved.append(self)

    with mock.patch.object(matplotlib.figure.Figure, "savefig", keep):
        yield saved


def draw(make: Callable[[], Figure]) -> Drawn:
    """Call a function that makes one figure, and give what it drew."""
    with recorded() as saved:
        figure = make()
    (drawing,) = saved
    return Drawn(figure, drawing)


def _beyond_the_limits(axes: Axes) -> list[Text]:
    """Ticks beyond the limits keep their labels, which are not drawn."""
    hidden = []
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        margin = 1e-6 * (high - low)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not axes.get_visible() or not low - margin <= tick.get_loc() <= high + margin:
                hidden += [tick.label1, tick.label2]
    return hidden


def outlines(axes: Axes) -> list[StepPatch]:
    """The histograms of axes that are drawn as lines, not as areas."""
    return [patch for patch in axes.patches if isinstance(patch, StepPatch) and not patch.get_fill()]


def points(line: Line2D) -> tuple[np.ndarray, np.ndarray]:
    """The data of a line, as numbers."""
    return np.asarray(line.get_xdata(), np.float64), np.asarray(line.get_ydata(), np.float64)


def tick_labels(axes: Axes, which: str) -> dict[float, str]:
    """The labels of the major ticks that are within the limits, by their places."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    margin = 1e-6 * (high - low)
    return {
        tick.get_loc(): tick.label1.get_text()
        for tick in axis.get_major_ticks()
        if low - margin <= tick.get_loc() <= high + margin
    }
