"""Rows of the table: how close a predictive is to that of a reference."""

import numpy as np

from symbayes.evaluate.agreement import agreement, agreements, total_variation, total_variations
from symbayes.evaluate.metric import CLASSES, NORMALS, REALS, Metric
from symbayes.evaluate.mixtures import (
    mean_distance,
    mixture_total_variation,
    mixture_total_variations,
    squared_distances,
)

CLOSENESS: tuple[Metric, ...] = (
    Metric(
        name="agreement",
        function=agreement,
        each=agreements,
        kinds=CLASSES,
        takes=("mean",),
        needs=("reference",),
        format=".1%",
        better="higher",
        paper="Izmailov et al. (2021)",
        description="share of points with the same most probable class as the reference",
    ),
    Metric(
        name="TV",
        function=total_variation,
        each=total_variations,
        kinds=CLASSES,
        takes=("mean",),
        needs=("reference",),
        format=".3f",
        better="lower",
        paper="Izmailov et al. (2021)",
        description="total variation distance from the reference: half the L1 distance, mean over points",
    ),
    Metric(
        name="mean-distance",
        function=mean_distance,
        each=squared_distances,
        of_mean=np.sqrt,
        kinds=REALS,
        takes=NORMALS,
        needs=("reference",),
        format=".3f",
        better="lower",
        paper="",
        description="root mean squared distance from the reference's means, in its standard deviations",
    ),
    Metric(
        name="TV",
        function=mixture_total_variation,
        each=mixture_total_variations,
        kinds=REALS,
        takes=NORMALS,
        needs=("reference",),
        format=".3f",
        better="lower",
        paper="",
        description="total variation distance from the reference's density, mean over outputs",
    ),
)
