"""What a metric keeps of examples that arrive in batches.

    metric = finish(statistics of the first batch, joined with those of the second, ...)

Statistics are added where sums are enough: a mean, counts in fixed bins, a table of confusions.  Where the
order of all scores matters (areas under curves, bins of equal mass) the scores are kept, a few numbers for
each point, and never what the draws predict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Pieces = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Statistics:
    """How a metric is told of batches.

    Attributes:
        of: of the arguments of the metric's function, for the examples of one batch, its statistics.
        finish: of the statistics of all examples, the metric.
        added: whether statistics of batches are added; otherwise they are kept, one after another.
    """

    of: Callable[..., Pieces]
    finish: Callable[..., float]
    added: bool = True

    def join(self, batches: Sequence[Pieces]) -> Pieces:
        """The statistics of all batches."""
        by_piece = zip(*batches, strict=True)
        if self.added:
            return tuple(np.asarray(np.sum(np.stack(pieces), axis=0)) for pieces in by_piece)
        return tuple(np.concatenate(pieces) for pieces in by_piece)


def summed(each: Callable[..., np.ndarray], after: Callable[[float], float]) -> Statistics:
    """Of a mean of one number for each example: their sum and how many they are."""

    def of(*arguments: object) -> Pieces:
        values = np.asarray(each(*arguments), np.float64)
        return np.asarray(np.sum(values)), np.array(len(values))

    return Statistics(of, lambda total, count: float(after(total / count)))


def kept(each: Callable[..., np.ndarray], after: Callable[[float], float]) -> Statistics:
    """Of the same, all numbers: for intervals, which draw examples again."""
    return Statistics(
        lambda *arguments: (np.asarray(each(*arguments), np.float64),),
        lambda values: float(after(np.mean(values))),
        added=False,
    )
