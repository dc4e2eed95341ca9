"""How well a Gaussian over weights predicts when it is fitted to some draws and compared with others.

Every compact posterior is made from one part of the draws and compared with the predictive of the rest, which
was not used to make it.  The ceiling is the predictive of all draws of the first part.  The Gaussians are
compared with simpler forms that take a similar number of bits: some stored draws, and the mean network.  On
request they are also compared with networks in few bits (`few_bits.py`); so far no Gaussian has been better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from symbayes import trees
from symbayes.analyse.few_bits import few_bits
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
from symbayes.distributions.few_bits import FewBits
from symbayes.draws import Draws
from symbayes.engine import Source, open_run
from symbayes.evaluate.metrics import find
from symbayes.posterior import Predictive
from symbayes.specs import require

RANKS = (0, 4, 32, 1024)
STORED = (1, 2, 3, 5, 10, 20, 50)
FLOAT = 32
"""The bits of a number that is not rounded."""


Predict = Callable[[Any], Predictive]
"""Gives the predictive at some inputs."""


@dataclass(frozen=True)
class Row:
    """One compact posterior and its scores.

    Attributes:
        family: mean network, Gaussian, stored draws, few bits or ceiling.
        form: the form of the draws that it was made from, raw or aligned; empty where it makes no difference.
        size: the rank of a Gaussian, or the number of draws or networks.
        bits: the number of bits that it stores.
        scores: its scores, by the names of the metrics.
    """

    family: str
    form: str
    size: int | None
    bits: int
    scores: Mapping[str, float]

    @property
    def name(self) -> str:
        if self.family == "Gaussian":
            return f"Gaussian, {f'rank {self.size:,}' if self.size else 'diagonal'}, {self.form}"
        if self.family == "mean network":
            return f"mean network, {self.form}"
        if self.family == "few bits":
            return f"{self.size} network{'' if self.size == 1 else 's'} in few bits"
        if self.family == "ceiling":
            return f"ceiling: all {self.size:,} draws"
        return f"{self.size} stored draw{'' if self.size == 1 else 's'}"


@briefly
@dataclass(frozen=True)
class Compactness:
    """The rows, and how many draws were fitted and held out; `gaussians` by form, of the largest rank; and
    the `networks` in few bits, where they were asked for."""

    rows: Sequence[Row]
    fitted: int
    held_out: int
    examples: int
    gaussians: Mapping[str, Gaussian]
    networks: FewBits | None = None

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
    source: Source,
    forms: Mapping[str, Draws],
    rest: Draws,
    test: Examples,
    ranks: Sequence[int] = RANKS,
    samples: int = 50,
    tell: Tell = silent,
    scaling: Scaling | None = None,
    train: Examples | None = None,
    statistics: Statistics = "recompute",
    bits: float | None = None,
    networks: int = 20,
    elsewhere: ArrayLike | None = None,
) -> Compactness:
    """Fit draws in each of several forms (raw, aligned), and judge by the predictive of the `rest`.

    The forms hold the same draws: the stored ones and the ceiling are of the first.  `scaling` is the
    dataset's `target_scaling` where its targets are standardised.  For networks that no training made,
    statistics of normalisers are computed again on the training examples, if these are given.  With `bits`,
    up to so many `networks` of so many bits a weight are made too, chosen at the training inputs.  With
    inputs from `elsewhere`, out of distribution, scores have the mutual information at both.
    """
    run, first = open_run(source), next(iter(forms.values()))
    y = np.asarray(test.y)
    target = predictive_of(run, rest, test.x)
    count = first.chains * len(first)
    rows, gaussians = [], {}

    def judged(family: str, form: str, size: int | None, stored: int, predict: Predict) -> None:
        predictive = predict(test.x)
        found = scores(predictive, target, y, scaling)
        if elsewhere is not None:
            found |= diversity(predictive, predict(elsewhere))
        rows.append(Row(family, form, size, stored, found))

    def by(networks: Draws | trees.Tree) -> Predict:
        return lambda x: predictive_of(run, networks, x)

    def sampled(gaussian: Gaussian) -> Predict:
        return lambda x: sampled_predictive(run, gaussian, x, samples, train, statistics)

    each = FLOAT * sum(int(np.prod(shape)) for shape in first.shapes.values())
    for form, draws in forms.items():
        mean = with_statistics(run, mean_network(draws), train, statistics)
        judged("mean network", form, None, each, by(mean))
    for form, draws in forms.items():
        for rank in possible_ranks(ranks, first):
            tell(f"Gaussian of rank {rank}, {form}")
            gaussians[form] = Gaussian.fit(draws, rank)
            judged("Gaussian", form, rank, FLOAT * gaussians[form].floats, sampled(gaussians[form]))
    for k in (k for k in STORED if k < count):
        kept = stored_draws(first, k * each // FLOAT)
        judged("stored draws", "", k, k * each, by(kept))
    few = None
    if bits is not None:
        require(train is not None, "networks in few bits are chosen at training examples: give train")
        assert train is not None
        few = few_bits(run, first, train.x, bits, min(networks, count), tell=tell)
        for k in sorted({k for k in STORED if k < len(few)} | {len(few)}):
            some = few.first(k)
            judged("few bits", "", k, some.bits, by(some.draws))
    judged("ceiling", "", count, count * each, by(first))
    return Compactness(rows, count, rest.chains * len(rest), len(y), gaussians, few)


def diversity(predictive: Predictive, elsewhere: Predictive) -> dict[str, float]:
    """The mutual information of a prediction and the network, in nats, in and out of distribution."""
    row = find("mutual-information", predictive.kind)
    # One network is certain of itself.
    found = (row.of(each) if each.count > 1 else 0.0 for each in (predictive, elsewhere))
    return dict(zip(("MI in", "MI out"), found, strict=True))


def possible_ranks(ranks: Sequence[int], draws: Draws) -> list[int]:
    """Those ranks that the draws and their weights allow; the largest of all in place of those beyond it."""
    most = largest_rank(draws)
    return sorted({min(rank, most) for rank in ranks})
