"""The loss on the plane through three networks, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm

from symbayes.evaluate import Plane
from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import blank, sheet, to_svg

LEVELS = 12
HIGHEST = 30.0
"""Losses above this multiple of the lowest are drawn in one colour."""


def loss_planes(planes: Mapping[str, Plane]) -> Figure:
    """One picture for each form, in one colour scale; distances are those in the space of weights."""
    finite = [plane.values[np.isfinite(plane.values)] for plane in planes.values()]
    known = np.concatenate(finite) if finite else np.zeros(0)
    known = known[known > 0]
    with sheet(0.3 + 3.1 * max(1, len(planes))) as drawing:
        every = drawing.subplots(max(1, len(planes)), 1, squeeze=False)[:, 0]
        if known.size == 0:
            for axes in every:
                blank(axes)
        else:
            low = float(known.min())
            levels = np.geomspace(low, max(min(float(known.max()), HIGHEST * low), 1.01 * low), LEVELS)
            for axes, (form, plane) in zip(every, planes.items(), strict=True):
                filled = _draw(axes, plane, levels)
                axes.set_title(form)
                drawing.colorbar(filled, ax=axes, label="loss (nats)", format="{x:.3g}", shrink=0.85)
        svg = to_svg(drawing)
    told = "; ".join(f"{form} {_height(plane):.3g}" for form, plane in planes.items())
    caption = (
        "The loss on training examples in the plane through the three networks that are marked; distances "
        f"are those in the space of weights. At the mean of the three the loss is, in nats: {told}. Networks "
        "that are joined by a valley lie in one basin."
    )
    alt = f"Contours of the loss on the plane through three networks. Loss at their mean: {told}."
    return Figure("The plane through three networks", svg, caption, alt)


def _draw(axes: Any, plane: Plane, levels: np.ndarray) -> Any:
    values = np.clip(np.nan_to_num(plane.values, nan=np.inf), levels[0], levels[-1])
    norm = LogNorm(levels[0], levels[-1])
    filled = axes.contourf(plane.x, plane.y, values, levels=levels, norm=norm, cmap="cividis_r")
    axes.contour(plane.x, plane.y, values, levels=levels, colors="black", linewidths=0.3, alpha=0.5)
    for number, (x, y) in enumerate(plane.corners, start=1):
        axes.plot(x, y, "o", color="white", markeredgecolor="black", markersize=12)
        axes.text(x, y, str(number), ha="center", va="center", fontsize=8, color="black")
    axes.set(aspect="equal", xlabel="distance", ylabel="distance")
    axes.grid(False)
    return filled


def _height(plane: Plane) -> float:
    """The loss at the place of the grid that is nearest to the middle of the three."""
    x, y = plane.corners.mean(0)
    return float(plane.values[np.abs(plane.y - y).argmin(), np.abs(plane.x - x).argmin()])
