"""The loss or the accuracy on the line from one network to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from jaxtyping import Real

from symbayes.evaluate import accuracy_drop, barrier
from symbayes.report.contents import Figure
from symbayes.report.figures.lines import curves

_MEANING = {
    "loss": "The barrier is the largest rise of the loss above the straight line between its ends; "
    "two networks without one lie in one basin.",
    "accuracy": "The drop is the largest fall of the accuracy below the straight line between its ends, "
    "in percentage points.",
}


def barrier_curves(
    series: Mapping[str, tuple[Real[np.ndarray, " _t"], Real[np.ndarray, " _t"]]],
    of: Literal["loss", "accuracy"] = "loss",
) -> Figure:
    """Values ``(t, loss)`` or ``(t, accuracy)`` along (1-t) w0 + t w1, with the barrier of each path."""
    if of not in ("loss", "accuracy"):
        raise ValueError(f"a path is one of 'loss' or 'accuracy', not {of!r}")
    named = {}
    for name, (t, values) in series.items():
        if len(t) != len(values):
            raise ValueError(f"path {name!r} has {len(t)} places for {len(values)} values; give as many")
        label = f"{name}: {_height(np.asarray(t), np.asarray(values), of)}"
        named[label] = (t, 100 * np.asarray(values) if of == "accuracy" else values)
    caption = "The straight line from one network (t = 0) to the other (t = 1). " + _MEANING[of]
    if len(named) == 1:
        caption += f" Here, {next(iter(named))}."
    ylabel = "loss (nats)" if of == "loss" else "accuracy (%)"
    title = "Loss between two networks" if of == "loss" else "Accuracy between two networks"
    return curves(named, "t, from one network to the other", ylabel, title, caption)


def _height(t: np.ndarray, values: np.ndarray, of: str) -> str:
    if len(values) < 2 or not np.isfinite(values).all():
        return "barrier unknown" if of == "loss" else "drop unknown"
    return (
        f"barrier {barrier(values, t):.3g}" if of == "loss" else f"drop {100 * accuracy_drop(values, t):.3g}"
    )
