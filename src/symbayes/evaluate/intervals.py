"""A number with an interval around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Interval:
    """A number, and the interval in which it lies with 95 %; nan where there is none."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


def percentile_interval(value: float, resampled: Sequence[float]) -> Interval:
    """From the same number of resampled data (Efron 1979); those for which it is not defined do not count."""
    known = np.asarray(resampled, np.float64)
    known = known[np.isfinite(known)]
    if known.size == 0:
        return Interval(float(value), float("nan"), float("nan"))
    low, high = np.quantile(known, [0.025, 0.975])
    return Interval(float(value), float(low), float(high))
