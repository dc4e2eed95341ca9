"""Metrics of examples that arrive in batches: a test set, or what draws predict of it, larger than memory.

    running = RunningMetrics.init([find("NLL", "classes"), find("ECE", "classes")])
    for x, y in batches:
        running = running.update(run.predict(x), y)
    running.finish()                                      # {"NLL": ..., "ECE": ...}

Numbers are those of all examples at once, to rounding.  What is kept are the `Statistics` of each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbayes.evaluate.metric import Metric
from symbayes.evaluate.statistics import Pieces, Statistics


@dataclass(frozen=True)
class RunningMetrics:
    """The statistics of some rows of METRICS over the batches so far; start from `RunningMetrics.init`."""

    rows: tuple[Metric, ...]
    intervals: bool
    batches: tuple[tuple[Pieces, ...], ...]

    @classmethod
    def init(cls, rows: Sequence[Metric], intervals: bool = False) -> RunningMetrics:
        """No examples yet; with `intervals`, a mean keeps one number for each example."""
        if len({row.name for row in rows}) < len(rows):
            raise ValueError("rows must have names that differ: they are told by them.")
        return cls(tuple(rows), intervals, ((),) * len(rows))

    def update(
        self,
        predictive: Any = None,
        y: Any = None,
        reference: Any = None,
        ood: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> RunningMetrics:
        """Take in a batch: what `Metric.of` takes, for these examples; `validation` is the same every time.

        Inputs from elsewhere come with a batch of test examples or without, in as many batches of their own.
        """
        if predictive is None and ood is None:
            raise ValueError("a batch has a predictive, or ood: give one of them.")
        taken = []
        for row, before in zip(self.rows, self.batches, strict=True):
            if "ood" in row.needs:
                pieces = tuple(_scores(row, one) for one in (predictive, ood))
            elif predictive is None:
                taken.append(before)
                continue
            else:
                arguments = row.arguments(predictive, y, reference, ood, validation)
                pieces = self._of(row).of(*(one.values for one in arguments))
            now = (*before, pieces)
            taken.append((self._of(row).join(now),) if self._of(row).added else now)
        return replace(self, batches=tuple(taken))

    def finish(self) -> dict[str, float]:
        """The metrics of all examples so far, by name."""
        return {row.name: self._finished(number) for number, row in enumerate(self.rows)}

    def of_examples(self, name: str) -> np.ndarray | None:
        """Of a metric that is a mean, and with `intervals`, one number for each example; None of others."""
        number = [row.name for row in self.rows].index(name)
        row = self.rows[number]
        if not self.intervals or row.each is None or not self.batches[number]:
            return None
        return self._of(row).join(self.batches[number])[0]

    def _of(self, row: Metric) -> Statistics:
        return row.told_of_examples if self.intervals else row.told_of_batches

    def _finished(self, number: int) -> float:
        row, batches = self.rows[number], self.batches[number]
        if not batches:
            raise ValueError(f"No examples were taken in for {row.name}: update with some before finishing.")
        return float(self._of(row).finish(*self._of(row).join(batches)))


def _scores(row: Metric, predictive: Any) -> np.ndarray:
    """The one score by which a row tells inputs from elsewhere; none where a batch has none of these."""
    return np.zeros(0) if predictive is None else np.asarray(getattr(predictive, row.takes[0]), np.float64)
