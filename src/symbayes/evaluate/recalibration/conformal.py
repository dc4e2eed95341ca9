"""Conformal prediction: sets of classes and intervals that hold the target with a stated probability.

On ``n`` validation examples every true target gets a score ``s`` that is high where it was not expected.  The
threshold is the ``ceil((n + 1) level)``-th smallest of them, and infinite if there are fewer.  A set has all
targets that score at most the threshold.  If validation and test examples are exchangeable, a set holds its
target with probability at least `level`, and at most ``level + 1 / (n + 1)`` where scores are distinct.

    threshold:    s = 1 - p_y                                       (Sadinle et al. 2019)
    APS:          s = sum of all p_k that are at least p_y          (Romano et al. 2020)
    RAPS:         s = that + weight max(0, rank of y - free)        (Angelopoulos et al. 2021)
    intervals:    s = max(lower - y, y - upper)                     (Romano et al. 2019)

Intervals are widened by their threshold.  A set always has the most probable class, so that none is empty.
Classes of equal probability are ranked by their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import by_example, finite, labelled, predictive
from symbayes.evaluate.regression import LEVEL, mixture, mixture_quantile
from symbayes.specs import require_probability

Form = Literal["threshold", "APS", "RAPS"]
HELD_OUT = ("held_out", "held_out_y")
WEIGHT, FREE = 0.01, 5
"""What RAPS adds for each rank beyond so many."""


def conformal_quantile(scores: ArrayLike, level: float) -> float:
    """The ``ceil((n + 1) level)``-th smallest of n scores; infinite where there are fewer."""
    require_probability(level=level)
    each = np.sort(finite(scores, "scores").reshape(-1))
    rank = int(np.ceil(round((len(each) + 1) * level, 9)))
    return float(each[rank - 1]) if rank <= len(each) else float("inf")


@dataclass(frozen=True)
class ConformalSets:
    """What scores at most `threshold` is in the set."""

    form: Form
    level: float
    threshold: float

    @classmethod
    def fit(
        cls, probs: ArrayLike, y: ArrayLike, level: float = LEVEL, form: Form = "threshold"
    ) -> ConformalSets:
        """From mean probabilities (n, ..., k) at validation inputs, and their labels (n, ...)."""
        if form not in get_args(Form):
            raise ValueError(f"form is one of {', '.join(get_args(Form))}, not {form!r}.")
        return _fitted(probs, y, level, form, ("probs", "y"))

    def sets(self, probs: ArrayLike) -> np.ndarray:
        """Which classes are in the set of each point: true or false, in the shape (n, ..., k)."""
        p = predictive(probs)
        inside = _scores(p, self.form) <= self.threshold
        return inside | (np.arange(p.shape[-1]) == p.argmax(axis=-1)[..., None])


def _fitted(
    probs: ArrayLike, y: ArrayLike, level: float, form: Form, names: tuple[str, str]
) -> ConformalSets:
    p, labels = labelled(probs, y, names)
    own = _scores(p, form)[np.arange(len(labels)), labels]
    return ConformalSets(form, level, conformal_quantile(own, level))


@dataclass(frozen=True)
class ConformalIntervals:
    """Intervals made wider by `margin` on both sides, or narrower where it is negative."""

    level: float
    margin: float

    @classmethod
    def fit(
        cls, lower: ArrayLike, upper: ArrayLike, y: ArrayLike, level: float = LEVEL
    ) -> ConformalIntervals:
        """From both ends of intervals at validation inputs and the targets, all of one shape."""
        low, high, target = _ends(lower, upper, y)
        return cls(level, conformal_quantile(np.maximum(low - target, target - high), level))

    def apply(self, lower: ArrayLike, upper: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Both ends, moved; where they would cross, both are in the middle."""
        low, high = finite(lower, "lower"), finite(upper, "upper")
        if low.shape != high.shape:
            raise ValueError(f"lower and upper must have one shape, but have {low.shape} and {high.shape}.")
        middle = (low + high) / 2
        return np.minimum(low - self.margin, middle), np.maximum(high + self.margin, middle)


def _scores(p: np.ndarray, form: Form) -> np.ndarray:
    """The score of every class of every point: (..., k)."""
    if form == "threshold":
        return 1 - p
    order = np.argsort(-p, axis=-1, kind="stable")
    total = np.cumsum(np.take_along_axis(p, order, axis=-1), axis=-1)
    if form == "RAPS":
        total = total + WEIGHT * np.maximum(0, np.arange(1, p.shape[-1] + 1) - FREE)
    scores = np.empty(p.shape)
    np.put_along_axis(scores, order, total, axis=-1)
    return scores


def _ends(lower: ArrayLike, upper: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low, high, target = finite(lower, "lower"), finite(upper, "upper"), finite(y, "y")
    if not low.shape == high.shape == target.shape:
        raise ValueError(
            f"lower, upper and y must have one shape, but have {low.shape}, {high.shape} and {target.shape}."
        )
    return low, high, target


def sets_cover(
    form: Form, probs: ArrayLike, y: ArrayLike, held_out: ArrayLike, held_out_y: ArrayLike
) -> np.ndarray:
    """Of each example, the share of its points whose 90 % set holds the label: (n,)."""
    inside = _fitted(held_out, held_out_y, LEVEL, form, HELD_OUT).sets(probs)
    _, labels = labelled(probs, y)
    flat = inside.reshape(len(labels), -1)
    return by_example(flat[np.arange(len(labels)), labels], len(inside))


def set_sizes(form: Form, probs: ArrayLike, held_out: ArrayLike, held_out_y: ArrayLike) -> np.ndarray:
    """Of each example, the mean number of classes in the 90 % sets of its points: (n,)."""
    inside = _fitted(held_out, held_out_y, LEVEL, form, HELD_OUT).sets(probs)
    return by_example(inside.sum(axis=-1), len(inside))


def _central(
    means: ArrayLike, scale: ArrayLike | float, names: tuple[str, str] = ("means", "scale")
) -> tuple[np.ndarray, np.ndarray]:
    m, sigma = mixture(means, scale, names)
    return mixture_quantile(m, sigma, (1 - LEVEL) / 2), mixture_quantile(m, sigma, (1 + LEVEL) / 2)


def _widened(
    means: ArrayLike, scale: ArrayLike, held_out: ArrayLike, held_out_scale: ArrayLike, held_out_y: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    ends = _central(held_out, held_out_scale, ("held_out", "held_out_scale"))
    target = finite(held_out_y, "held_out_y")
    if target.shape != ends[0].shape:
        raise ValueError(
            f"held_out_y must have shape {ends[0].shape} to match held_out, but has shape {target.shape}."
        )
    return ConformalIntervals.fit(*ends, target).apply(*_central(means, scale))


def intervals_cover(
    means: ArrayLike,
    scale: ArrayLike,
    y: ArrayLike,
    held_out: ArrayLike,
    held_out_scale: ArrayLike,
    held_out_y: ArrayLike,
) -> np.ndarray:
    """Of each example, the share of its targets in the conformalised 90 % interval: (n,)."""
    low, high = _widened(means, scale, held_out, held_out_scale, held_out_y)
    target = finite(y, "y")
    if target.shape != low.shape:
        raise ValueError(f"y must have shape {low.shape} to match means, but has shape {target.shape}.")
    return by_example((low <= target) & (target <= high), len(target))


def interval_widths(
    means: ArrayLike, scale: ArrayLike, held_out: ArrayLike, held_out_scale: ArrayLike, held_out_y: ArrayLike
) -> np.ndarray:
    """Of each example, the mean width of its conformalised 90 % intervals: (n,)."""
    low, high = _widened(means, scale, held_out, held_out_scale, held_out_y)
    return by_example(high - low, len(low))
