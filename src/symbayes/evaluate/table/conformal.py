"""Rows of the table: conformal sets and intervals, fitted on validation examples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from symbayes.evaluate.metric import CLASSES, NORMALS, REALS, Metric
from symbayes.evaluate.recalibration.conformal import (
    Form,
    interval_widths,
    intervals_cover,
    set_sizes,
    sets_cover,
)
from symbayes.evaluate.regression import LEVEL

FORMS: dict[str, tuple[Form, str, str]] = {
    "conformal": ("threshold", "by a threshold on probabilities", "Sadinle et al. (2019)"),
    "APS": ("APS", "adaptive to each point", "Romano et al. (2020)"),
    "RAPS": ("RAPS", "adaptive to each point and kept small", "Angelopoulos et al. (2021)"),
}


def _mean(each: Callable[..., np.ndarray], name: str) -> Callable[..., float]:
    """The mean of one number for each example, as a function of the name that the reference shows."""

    def mean(*arguments: Any) -> float:
        return float(np.mean(each(*arguments)))

    mean.__name__ = name
    return mean


def _sets(name: str) -> tuple[Metric, Metric]:
    form, words, paper = FORMS[name]
    cover, size = partial(sets_cover, form), partial(set_sizes, form)
    covered = Metric(
        name=f"{name}-coverage",
        function=_mean(cover, "sets_cover"),
        each=cover,
        kinds=CLASSES,
        takes=("mean",),
        needs=("targets", "validation"),
        format=".1%",
        better=LEVEL,
        paper=paper,
        description=f"share of labels in conformal sets of 90%, {words}",
        shown=False,
    )
    sized = Metric(
        name=f"{name}-size",
        function=_mean(size, "set_sizes"),
        each=size,
        kinds=CLASSES,
        takes=("mean",),
        needs=("validation",),
        format=".2f",
        better="lower",
        paper=paper,
        description=f"mean number of classes in conformal sets of 90%, {words}",
        shown=False,
    )
    return covered, sized


CONFORMAL: tuple[Metric, ...] = (
    *(row for name in FORMS for row in _sets(name)),
    Metric(
        name="conformal-coverage",
        function=_mean(intervals_cover, "intervals_cover"),
        each=intervals_cover,
        kinds=REALS,
        takes=NORMALS,
        needs=("targets", "validation"),
        format=".1%",
        better=LEVEL,
        paper="Romano et al. (2019)",
        description="share of targets in central 90% intervals widened on validation examples",
        shown=False,
    ),
    Metric(
        name="conformal-width",
        function=_mean(interval_widths, "interval_widths"),
        each=interval_widths,
        kinds=REALS,
        takes=NORMALS,
        needs=("validation",),
        format=".4g",
        better="lower",
        paper="Romano et al. (2019)",
        description="mean width of central 90% intervals widened on validation examples",
        shown=False,
    ),
)
