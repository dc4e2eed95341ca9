"""What a Gaussian over weights is worth, fitted to some draws and judged by others.

Everything compact is made from one part of the draws and compared with the predictive of the rest, which
it has not seen.  The ceiling is the predictive of all draws of the first part.  Beside the Gaussians stand
what they must beat at the same number of floats: some stored draws, and the mean network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from rich.table import Table as TerminalTable

from symbayes.analyse.compare import measure
from symbayes.compact import Gaussian, mean_network, stored_draws
from symbayes.data import Examples, Scaling
from symbayes.draws import Draws
from symbayes.evaluate import FORMATS
from symbayes.evaluate.metric import Need
from symbayes.evaluate.metrics import chosen
from symbayes.posterior import Predictive
from symbayes.posterior.likelihoods import joined
from symbayes.report.contents import Table
from symbayes.report.symmetry.subject import Subject, Tell, silent

RANKS = (0, 4, 32, 1024)
STORED = (1, 2, 3, 5, 10, 20, 50)
GIVEN: tuple[Need, ...] = ("targets", "reference")
LEFT_OUT = ("Brier", "ECE")
"""Metrics that say little about a compact posterior beside the others."""
PIECE = 2**24
"""Numbers in the networks that are drawn from a Gaussian at once."""


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
        return list(dict.fromkeys(column for row in self.rows for column in row.scores))

    @property
    def caption(self) -> str:
        text = f"Everything is made from {self.fitted:,} draws and tried on {self.examples:,} test examples."
        return text + (
            " What compares (agreement, TV, mean-distance) is with the predictive of the "
            f"{self.held_out:,} draws that were held out."
        )

    def table(self) -> Table:
        """For the page."""
        return Table(
            columns=["posterior", "floats stored", *self.columns],
            rows=[[row.name, row.floats, *(row.scores.get(c) for c in self.columns)] for row in self.rows],
            caption=self.caption,
            formats={column: FORMATS[column] for column in self.columns},
        )

    def terminal_table(self) -> TerminalTable:
        table = TerminalTable(caption=self.caption, caption_justify="left")
        table.add_column("posterior")
        for column in ("floats stored", *self.columns):
            table.add_column(column, justify="right")
        for row in self.rows:
            scores = (format(row.scores[c], FORMATS[c]) if c in row.scores else "–" for c in self.columns)
            table.add_row(row.name, f"{row.floats:,}", *scores)
        return table


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
    subject: Subject,
    forms: Mapping[str, Draws],
    rest: Draws,
    test: Examples,
    ranks: Sequence[int] = RANKS,
    samples: int = 50,
    tell: Tell = silent,
    scaling: Scaling | None = None,
) -> Compactness:
    """Fit draws in each of several forms (raw, aligned), and judge by the predictive of the `rest`.

    The forms hold the same draws: the stored ones and the ceiling are of the first.  `scaling` is the
    dataset's `target_scaling` where its targets are standardised.
    """
    first = next(iter(forms.values()))
    y = np.asarray(test.y)
    target = subject.predict(rest, test.x)
    count = first.chains * len(first)
    rows, gaussians = [], {}

    def judged(family: str, form: str, size: int | None, floats: int, predictive: Predictive) -> None:
        rows.append(Row(family, form, size, floats, _scores(predictive, target, y, scaling)))

    each = sum(int(np.prod(shape)) for shape in first.shapes.values())
    for form, draws in forms.items():
        judged("mean network", form, None, each, subject.predict(mean_network(draws), test.x))
    for form, draws in forms.items():
        for rank in _possible(ranks, count):
            tell(f"Gaussian of rank {rank}, {form}")
            gaussians[form] = Gaussian.fit(draws, rank)
            predictive = sampled_predictive(subject, gaussians[form], test.x, samples)
            judged("Gaussian", form, rank, gaussians[form].floats, predictive)
    for k in (k for k in STORED if k < count):
        judged("stored draws", "", k, k * each, subject.predict(stored_draws(first, k * each), test.x))
    judged("ceiling", "", count, count * each, subject.predict(first, test.x))
    return Compactness(rows, count, rest.chains * len(rest), len(y), gaussians)


def sampled_predictive(subject: Subject, gaussian: Gaussian, x: Any, samples: int) -> Predictive:
    """The predictive of a Gaussian over weights, from so many networks drawn from it."""
    parts = [subject.predict(draws, x) for draws in _pieces(gaussian, samples)]
    return joined(parts)


def _pieces(gaussian: Gaussian, samples: int) -> Iterator[Draws]:
    size = max(1, min(samples, PIECE // gaussian.location.size))
    for number in range(-(-samples // size)):
        yield gaussian.sample(jax.random.fold_in(jax.random.key(0), number), size)


def _possible(ranks: Sequence[int], count: int) -> list[int]:
    """Those ranks that so many draws allow; the largest of all in place of those beyond it."""
    return sorted({min(rank, count - 1) for rank in ranks})


def _scores(
    predictive: Predictive, target: Predictive, y: np.ndarray, scaling: Scaling | None
) -> dict[str, float]:
    rows = [row for row in chosen(predictive.kind, None, GIVEN) if row.name not in LEFT_OUT]
    return measure(predictive, y, scaling, rows, reference=target)
