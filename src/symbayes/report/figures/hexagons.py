"""Densities of points in the plane, in hexagonal bins."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm

from symbayes.evaluate.hexagons import Hexagons
from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import blank, sheet, shown, to_svg


def densities(
    forms: Mapping[str, Hexagons], labels: tuple[str, str], title: str, caption: str, window: float
) -> Figure:
    """One picture for each form, over the same window from -window to window, darker where there are more."""
    most = max((float(h.counts.max()) for h in forms.values() if len(h.counts)), default=1.0)
    with sheet(3.4 * max(1, len(forms))) as drawing:
        # Of axes with a fixed aspect the usual layout does not know the width, and cuts labels off.
        drawing.set_layout_engine("compressed")
        every = drawing.subplots(max(1, len(forms)), 1, squeeze=False)[:, 0]
        for axes, (name, found) in zip(every, forms.items(), strict=False):
            axes.set_title(shown(name))
            if not len(found.counts):
                blank(axes)
                continue
            cells = PolyCollection(
                list(_corners(found)), array=found.counts, cmap="cividis_r", norm=LogNorm(1, max(most, 2))
            )
            cells.set_rasterized(True)
            axes.add_collection(cells)
            axes.set(xlim=(-window, window), ylim=(-window, window), aspect="equal")
            axes.set(xlabel=shown(labels[0]), ylabel=shown(labels[1]))
            axes.axline((0, 0), slope=1, color="black", linewidth=0.6, linestyle=":")
            drawing.colorbar(cells, ax=axes, label="networks", format="{x:,.0f}", shrink=0.85)
        svg = to_svg(drawing)
    return Figure(
        title, svg, caption, f"Hexagonal densities of {labels[0]} and {labels[1]}: {', '.join(forms)}."
    )


def _corners(found: Hexagons) -> np.ndarray:
    """The six corners of every hexagon, (h, 6, 2)."""
    angles = math.pi / 6 + math.pi / 3 * np.arange(6)
    ring = found.width / math.sqrt(3) * np.stack([np.cos(angles), np.sin(angles)], -1)
    return found.centres[:, None] + ring
