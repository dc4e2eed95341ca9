"""The same numbers from blocks of draws, so that a result need not keep every draw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from symbayes.evaluate.inputs import probabilities

CACHED = 1 << 15
"""Numbers of a draw treated at once, few enough that all that is computed from them stays in the cache."""


@dataclass(frozen=True)
class Predictive:
    """The mean predictive of `count` draws over classes and its uncertainty in nats.

    Attributes:
        probs: (n, ..., k) mean probabilities.
        entropy: (n, ...) entropy of the mean.
        mutual_information: (n, ...) entropy of the mean minus mean of the entropies.
        count: number of draws.
    """

    probs: np.ndarray
    entropy: np.ndarray
    mutual_information: np.ndarray
    count: int


@dataclass(frozen=True)
class RunningPredictive:
    """Running means over draws of the probabilities (n, ..., k) and of their entropies (n, ...).

    Start from `RunningPredictive.init((n, ..., k))`.
    """

    count: int
    probs: np.ndarray
    entropies: np.ndarray

    @classmethod
    def init(cls, shape: tuple[int, ...]) -> "RunningPredictive":
        """No draws yet, for predictions of shape (n, ..., k)."""
        return cls(0, np.zeros(shape), np.zeros(shape[:-1]))

    def update(self, block: ArrayLike) -> "RunningPredictive":
        """Take in a block of draws (..., n, ..., k), all leading axes being draws; it may hold none."""
        p = _draws(probabilities(block, "block", may_be_empty=True), self.probs.shape)
        if len(p) == 0:
            return self
        count = self.count + len(p)
        share = len(p) / count
        return RunningPredictive(
            count,
            self.probs + share * (p.mean(axis=0) - self.probs),
            self.entropies + share * (entr(p).sum(axis=-1).mean(axis=0) - self.entropies),
        )

    def finish(self) -> Predictive:
        """Mean, entropy and mutual information over all draws so far."""
        if self.count == 0:
            raise ValueError("No draws were taken in: update with at least one before finishing.")
        total = entr(self.probs).sum(axis=-1)
        return Predictive(self.probs, total, total - self.entropies, self.count)


@dataclass(frozen=True)
class Mixture:
    """The first two moments of an equal mixture of `count` normals.

    Attributes:
        mean: (n, ..., d) of the mixture.
        std: its standard deviation, ``sqrt(aleatoric^2 + epistemic^2)``.
        aleatoric: the part that is noise, ``sqrt(mean of noise^2 over draws)``.
        epistemic: the part that is disagreement, the standard deviation of the draws' means.
        count: number of draws.
    """

    mean: np.ndarray
    std: np.ndarray
    aleatoric: np.ndarray
    epistemic: np.ndarray
    count: int


@dataclass(frozen=True)
class RunningMixture:
    """Running moments over draws of normals' means (n, ..., d) and of their squared noise.

    Start from `RunningMixture.init((n, ..., d), noise)`.  Where the noise is not known but predicted,
    blocks hold the means and then the noise scales along their last axis.
    """

    count: int
    mean: np.ndarray
    deviation: np.ndarray
    squares: np.ndarray
    predicted: bool

    @classmethod
    def init(cls, shape: tuple[int, ...], noise: float | None) -> "RunningMixture":
        """No draws yet, for means of this shape and a known noise scale, or None where it is predicted."""
        squares = np.zeros(shape) if noise is None else np.full(shape, float(noise) ** 2)
        return cls(0, np.zeros(shape), np.zeros(shape), squares, noise is None)

    def update(self, block: ArrayLike) -> "RunningMixture":
        """Take in a block of draws (..., n, ..., d), all leading axes being draws; it may hold none."""
        means, squares = np.asarray(block), self.squares
        if self.predicted:
            means, noise = np.split(means, 2, axis=-1)
            noise = _draws(noise, self.mean.shape).astype(np.float64)
            share = len(noise) / max(1, self.count + len(noise))
            if len(noise):
                squares = squares + share * ((noise**2).mean(axis=0) - squares)
        moments = RunningMoments(self.count, self.mean, self.deviation).update(means)
        return RunningMixture(moments.count, moments.mean, moments.deviation, squares, self.predicted)

    def finish(self) -> Mixture:
        """The mixture's mean and standard deviations over all draws so far."""
        if self.count == 0:
            raise ValueError("No draws were taken in: update with at least one before finishing.")
        variance = self.deviation / self.count
        parts = np.sqrt(self.squares), np.sqrt(variance)
        return Mixture(self.mean, np.sqrt(self.squares + variance), *parts, self.count)


@dataclass(frozen=True)
class Moments:
    """Mean and unbiased variance over `count` draws."""

    mean: np.ndarray
    variance: np.ndarray
    count: int


@dataclass(frozen=True)
class RunningMoments:
    """Running mean and summed squared deviation over draws (Chan, Golub and LeVeque 1983).

    Start from `RunningMoments.init(shape)` with the shape of one draw.
    """

    count: int
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def init(cls, shape: tuple[int, ...]) -> "RunningMoments":
        """No draws yet, for arrays of this shape."""
        return cls(0, np.zeros(shape), np.zeros(shape))

    def update(self, block: ArrayLike) -> "RunningMoments":
        """Take in a block of draws (..., *shape), all leading axes being draws; it may hold none."""
        x = _draws(np.asarray(block), self.mean.shape)
        if len(x) == 0:
            return self
        if not np.isfinite(x).all():
            raise ValueError("block holds values that are not finite: drop the draws that diverged first.")
        count = self.count + len(x)
        mean, deviation, x = self.mean.flatten(), self.deviation.flatten(), x.reshape(len(x), -1)
        for first in range(0, mean.size, CACHED):
            some = slice(first, first + CACHED)
            part = x[:, some].astype(np.float64)
            middle = part.mean(axis=0)
            step = middle - mean[some]
            mean[some] += step * (len(x) / count)
            deviation[some] += np.sum((part - middle) ** 2, axis=0)
            deviation[some] += step**2 * (self.count * len(x) / count)
        return RunningMoments(count, mean.reshape(self.mean.shape), deviation.reshape(self.mean.shape))

    def finish(self) -> Moments:
        """Mean and variance, divided by count - 1, over all draws so far."""
        if self.count < 2:
            raise ValueError(f"A variance needs at least 2 draws, but {self.count} were taken in.")
        return Moments(self.mean, np.asarray(self.deviation / (self.count - 1)), self.count)


def _draws(block: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    leading = block.ndim - len(shape)
    if leading < 1 or block.shape[leading:] != shape:
        raise ValueError(f"block must have shape (draws, *{shape}), but has shape {block.shape}.")
    return block.reshape(int(np.prod(block.shape[:leading])), *shape)
