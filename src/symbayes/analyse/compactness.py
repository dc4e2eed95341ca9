"""What a Gaussian over weights is worth, fitted to some draws and judged by others.

Everything compact is made from one part of the draws and compared with the predictive of the rest, which
it has not seen.  The ceiling is the predictive of all draws of the first part.  Beside the Gaussians stand
what they must beat at the same number of floats: some stored draws, and the mean network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symbayes.analyse.predictions import (
    Statistics,
    predictive_of,
    sampled_predictive,
    scores,
    with_statistics,
)
from symbayes.analyse.progress import Tell, silent
from symbayes.brief import briefly
from symbayes.data import Examples, Scaling
from symbayes.distributions import Gaussian, largest_rank, mean_network, stored_draws
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.posterior import Predictive

RANKS = (0, 4, 32, 1024)
STORED = (1, 2, 3, 5, 10, 20, 50)


@dataclass(frozen=True)
class Row:
    """One compact posterior and how good it is.

    Attributes:
        family: mean network, Gaussian, stored draws or ceiling.
        form: of the draws it was made from, raw or aligned; empty where it makes no difference.
        size: the rank of a Gaussian, the number of draws.
        floats: how many numbers it stores.
        scores: by the names of the metrics.
    """

    family: str
    form: str
    size: int | None
    floats: int
    scores: Mapping[str, float]

    @property
    def name(self) -> str:
        if self.family == "Gaussian":
            return f"Gaussian, {f'rank {self.size:,}' if self.size else 'diagonal'}, {self.form}"
        if self.family == "mean network":
            return f"mean network, {self.form}"
        if self.family == "ceiling":
            return f"ceiling: all {self.size:,} draws"
        return f"{self.size} stored draw{'' if self.size == 1 else 's'}"


@briefly
@dataclass(frozen=True)
class Compactness:
    """The rows, and how many draws were fitted and held out; `gaussians` by form, of the largest rank."""

    rows: Sequence[Row]
    fitted: int
    held_out: int
    examples: int
    gaussians: Mapping[str, Gaussian]

    def of(self, family: str, form: str = "") -> list[Row]:
        """The rows of one family."""
        return [row for row in self.rows if (row.family, row.form) == (family, form)]

    @property
    def columns(self) -> list[str]:
        """The names of the metrics."""
        return list(dict.fromkeys(column for row in self.rows for column in row.scores))


def held_out(draws: Draws) -> tuple[Draws, Draws] | None:
    """Two parts in memory: of the chains where there are several, else of the draws; None if too few.

    The first part is the larger one and has at least two draws.
    """
    by_chains = draws.chains > 1
    count = draws.chains if by_chains else len(draws)
    first, second = np.split(np.arange(count), [(count + 1) // 2])
    if len(first) * (len(draws) if by_chains else 1) < 2:
        return None
    if by_chains:
        return draws.select(chains=first), draws.select(chains=second)
    return draws.select(draws=first), draws.select(draws=second)


def compactness(
    run: Opened,
    forms: Mapping[str, Draws],
    rest: Draws,
    test: Examples,
    ranks: Sequence[int] = RANKS,
    samples: int = 50,
    tell: Tell = silent,
    scaling: Scaling | None = None,
    train: Examples | None = None,
    statistics: Statistics = "recompute",
) -> Compactness:
    """Fit draws in each of several forms (raw, aligned), and judge by the predictive of the `rest`.

    The forms hold the same draws: the stored ones and the ceiling are of the first.  `scaling` is the
    dataset's `target_scaling` where its targets are standardised.  For networks that no training made,
    statistics of normalisers are computed again on the training examples, if these are given.
    """
    first = next(iter(forms.values()))
    y = np.asarray(test.y)
    target = predictive_of(run, rest, test.x)
    count = first.chains * len(first)
    rows, gaussians = [], {}

    def judged(family: str, form: str, size: int | None, floats: int, predictive: Predictive) -> None:
        rows.append(Row(family, form, size, floats, scores(predictive, target, y, scaling)))

    each = sum(int(np.prod(shape)) for shape in first.shapes.values())
    for form, draws in forms.items():
        mean = with_statistics(run, mean_network(draws), train, statistics)
        judged("mean network", form, None, each, predictive_of(run, mean, test.x))
    for form, draws in forms.items():
        for rank in possible_ranks(ranks, first):
            tell(f"Gaussian of rank {rank}, {form}")
            gaussians[form] = Gaussian.fit(draws, rank)
            predictive = sampled_predictive(run, gaussians[form], test.x, samples, train, statistics)
            judged("Gaussian", form, rank, gaussians[form].floats, predictive)
    for k in (k for k in STORED if k < count):
        judged("stored draws", "", k, k * each, predictive_of(run, stored_draws(first, k * each), test.x))
    judged("ceiling", "", count, count * each, predictive_of(run, first, test.x))
    return Compactness(rows, count, rest.chains * len(rest), len(y), gaussians)


def possible_ranks(ranks: Sequence[int], draws: Draws) -> list[int]:
    """Those ranks that the draws and their weights allow; the largest of all in place of those beyond it."""
    most = largest_rank(draws)
    return sorted({min(rank, most) for rank in ranks})
