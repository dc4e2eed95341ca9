"""How sure a metric is, given that the test examples are a sample: the bootstrap over examples.

A metric is computed again on examples drawn with replacement, positions of an example staying together, and
the out-of-distribution inputs drawn by themselves.  Its standard error is the standard deviation of these
values, and its 95 % interval reaches ``1.96`` of them to both sides.  Where a metric is a mean over examples,
resampling is a product with counts and costs next to nothing.

Metrics of equally many examples are computed on the same examples, so that a difference of two runs has a
standard error of its own, which is smaller than either's where both err on the same examples.

Reference: Efron and Tibshirani (1993), An introduction to the bootstrap.
"""

from __future__ import annotations

import functools

import numpy as np

from symbayes.evaluate.metric import Argument, Group, Metric

RESAMPLES = 200
"""With so many, a standard error is known to 5 %."""
REACH = 1.96


def replicates(row: Metric, arguments: list[Argument], resamples: int = RESAMPLES) -> np.ndarray | None:
    """The metric on each of the samples of examples; None where that would take too long."""
    values = [argument.values for argument in arguments]
    if row.each is not None:
        each = np.asarray(row.each(*values), np.float64)
        return of_examples(row, each, resamples)
    if not row.resampled:
        return None
    found = []
    sizes = {one.group: np.shape(one.values)[one.axis] for one in arguments if one.group != "none"}
    picks = {group: samples(size, group, resamples) for group, size in sizes.items()}
    for number in range(resamples):
        sampled = [
            one.values
            if one.group == "none"
            else np.take(one.values, picks[one.group][number], axis=one.axis)
            for one in arguments
        ]
        found.append(row.function(*sampled))
    return np.array(found)


def of_examples(row: Metric, each: np.ndarray, resamples: int = RESAMPLES) -> np.ndarray:
    """Of a metric that is a mean, from one number for each example."""
    means = np.array([each[some].mean() for some in samples(len(each), "test", resamples)])
    return np.asarray(row.of_mean(means))


@functools.lru_cache(maxsize=8)
def samples(size: int, group: Group, resamples: int) -> np.ndarray:
    """Which of so many examples are in each sample: (resamples, size); the same at every call."""
    rng = np.random.default_rng([size, resamples, group == "ood"])
    return rng.integers(0, size, (resamples, size), dtype=np.int32)


def margin(values: np.ndarray | None) -> float:
    """Half of the 95 % interval; nan where it is not known."""
    if values is None or not np.isfinite(values).all():
        return float("nan")
    return float(REACH * np.std(values, ddof=1))


def told_apart(gap: float, values: np.ndarray | None, others: np.ndarray | None) -> bool:
    """Whether a difference of two metrics is outside its 95 % interval around zero."""
    if values is None or others is None:
        return gap != 0
    return bool(abs(gap) > margin(values - others))
