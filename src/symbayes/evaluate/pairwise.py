"""How much every two of many networks disagree: pairwise mutual information, its dispersion and correlation.

For networks ``i`` and ``j`` with probabilities ``p`` and ``q``, the mutual information between the label and
which of the two predicts, in nats and averaged over points, is

    I(i, j) = H((p + q) / 2) - (H(p) + H(q)) / 2

the Jensen-Shannon divergence, from 0 to ``ln 2``.  Laurent et al. (2024) look at all pairs of 1,000 networks,
on inputs like the training data and on out-of-distribution inputs, to see whether independent trainings end
in the same function: how widely the values spread over pairs (their dispersion), and whether pairs that
disagree on the one disagree on the other (their correlation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from symbayes.evaluate.inputs import ROW_SUM_TOLERANCE, finite, probabilities
from symbayes.evaluate.intervals import Interval, percentile_interval

RESAMPLES = 400
SMALL = 2**16
"""Numbers in all pairs for which compiling a program would take longer than the sums."""


def pairwise_mutual_information(probs: ArrayLike) -> np.ndarray:
    """The mutual information of every two of M networks: (M, n, ..., k) to (M, M), mean over points.

    Small cases are computed by NumPy in float64.  Of others, points are taken some at a time, so that an
    array in a file (a NumPy memmap) is never read whole, and the memory for pairs is bounded by a tile.
    Numbers are float32, their sums over pieces float64.
    """
    from symbayes.evaluate.pairwise_tiles import summed  # here alone, since it imports JAX

    shape = np.shape(probs)
    if len(shape) < 3 or 0 in shape:
        raise ValueError(
            f"probs must have shape (networks, n, ..., k), none of them zero, but has shape {shape}."
        )
    # Arrays on a device are not copied to the host.
    array: Any = probs if hasattr(probs, "reshape") else np.asarray(probs)
    points = array.reshape(shape[0], -1, shape[-1])
    if shape[0] * points.size <= SMALL:
        return _summed_on_the_host(probabilities(points)) / points.shape[1]
    total, lowest, error = summed(points)
    if not np.isfinite(total).all():
        raise ValueError("probs holds values that are not finite: drop the draws that diverged first.")
    if lowest < 0 or error > ROW_SUM_TOLERANCE:
        raise ValueError(
            f"probs must be at least 0 and sum to one over the last axis, but is as low as {lowest:.3g} and "
            f"off by up to {error:.3g}: pass probabilities, not logits."
        )
    return total / points.shape[1]


def _summed_on_the_host(p: np.ndarray) -> np.ndarray:
    """The sums of `pairwise_tiles.summed`."""
    own = entr(p).sum((1, 2))
    mixed = np.array([entr((each + p) / 2).sum((1, 2)) for each in p])
    total = mixed - (own[:, None] + own) / 2
    return total - np.diag(np.diag(total))


def mean_pairwise_mutual_information(probs: ArrayLike) -> float:
    """The mean over all pairs of draws (draws, n, ..., k); a single draw disagrees with none, 0."""
    total, points = pair_sums(probs)
    return float(total / points)


def pair_sums(probs: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The same summed over points, and how many points there are."""
    shape = np.shape(probs)
    found = pairwise_mutual_information(probs)
    points = np.array(np.prod(shape[1:-1], dtype=np.int64))
    mean = np.mean(pairs_of(found)) if shape[0] > 1 else 0.0
    return np.asarray(mean * points), points


def pairs_of(matrix: ArrayLike) -> np.ndarray:
    """The values of all pairs i < j of a symmetric (M, M) array."""
    return _pairs(matrix, "matrix")


def _pairs(matrix: ArrayLike, name: str) -> np.ndarray:
    values = finite(matrix, name)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) < 2:
        raise ValueError(
            f"{name} has the values of pairs, (M, M) with M at least 2, but has shape {values.shape}."
        )
    return values[np.triu_indices(len(values), 1)]


@dataclass(frozen=True)
class Dispersion:
    """Mean and standard deviation of values over pairs; `ratio` is the coefficient of variation."""

    mean: float
    deviation: float

    @property
    def ratio(self) -> float:
        return self.deviation / self.mean if self.mean > 0 else float("nan")


def dispersion(matrix: ArrayLike) -> Dispersion:
    """That of the pairs of a symmetric (M, M) array."""
    values = pairs_of(matrix)
    return Dispersion(float(values.mean()), float(values.std()))


def pair_correlation(first: ArrayLike, second: ArrayLike, seed: int = 0) -> Interval:
    """Pearson's correlation over pairs of two symmetric (M, M) arrays, with a 95 % interval.

    Pairs that share a network are not independent: networks are drawn again, and not pairs.  Of a network
    drawn twice, its pair with itself does not count.
    """
    if _pairs(first, "first").shape != _pairs(second, "second").shape:
        shapes = f"{np.shape(first)} and {np.shape(second)}"
        raise ValueError(f"first and second are about the same networks, but have shapes {shapes}.")
    a, b = (np.asarray(values, np.float64) for values in (first, second))
    count, rng = len(a), np.random.default_rng(seed)
    own = 1 - np.eye(count)
    moments = [own, own * a, own * b, own * a * a, own * b * b, own * a * b]

    def correlation(weights: np.ndarray) -> float:
        total, *sums = (float(weights @ matrix @ weights) for matrix in moments)
        if total == 0:
            return float("nan")
        x, y, xx, yy, xy = (each / total for each in sums)
        spread = (xx - x * x) * (yy - y * y)
        return (xy - x * y) / np.sqrt(spread) if spread > 1e-24 * xx * yy else float("nan")

    drawn = (rng.multinomial(count, np.full(count, 1 / count)).astype(np.float64) for _ in range(RESAMPLES))
    return percentile_interval(correlation(np.ones(count)), [correlation(weights) for weights in drawn])
