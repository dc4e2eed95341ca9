"""One method on several splits of a dataset: mean and standard error of each metric.

The standard error is ``sd / sqrt(n)`` over n splits.  Splits share most of their training rows, so it shows
how much the split matters, but not how far the mean would be from that of fresh data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from symbayes.analyse.compare import Comparison
from symbayes.brief import briefly
from symbayes.evaluate import Metric
from symbayes.evaluate.metric import written
from symbayes.specs import Record, require


@briefly
@dataclass(frozen=True, eq=False)
class SplitScores:
    """The numbers of every split, by the name of the metric, each of shape (split,)."""

    values: Mapping[str, np.ndarray]
    metrics: tuple[Metric, ...]

    @classmethod
    def of(cls, comparisons: Mapping[str, Comparison]) -> SplitScores:
        """The scores from the comparison of each split, of which the first row is used."""
        require(len(comparisons) > 0, "scores over splits take at least one split")
        rows = [next(iter(one.rows.values())) for one in comparisons.values()]
        told = [metric for metric in next(iter(comparisons.values())).told if metric.name in rows[0]]
        return cls({m.name: np.array([row[m.name] for row in rows]) for m in told}, tuple(told))

    @property
    def count(self) -> int:
        return len(next(iter(self.values.values())))

    def mean(self, name: str) -> float:
        return float(self.values[name].mean())

    def standard_error(self, name: str) -> float:
        """The standard error of a metric; nan for a single split."""
        return float(self.values[name].std(ddof=1) / np.sqrt(self.count)) if self.count > 1 else float("nan")

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Name, mean, standard error and range of each metric, as text."""
        made = []
        for metric in self.metrics:
            values = self.values[metric.name]
            numbers = self.mean(metric.name), self.standard_error(metric.name)
            words = ["–" if np.isnan(number) else written(number, metric.format) for number in numbers]
            ends = f"{values.min():{metric.format}} to {values.max():{metric.format}}"
            made.append((metric.name, *words, ends))
        return made

    def numbers(self) -> Record:
        """Everything as plain numbers, for JSON."""
        return {
            name: {
                "mean": self.mean(name),
                "standard_error": self.standard_error(name),
                "splits": values.tolist(),
            }
            for name, values in self.values.items()
        }
