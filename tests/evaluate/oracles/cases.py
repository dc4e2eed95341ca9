"""Cases for the oracles: predictives, and all that a metric may need beside them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symbayes.posterior import CategoricalPredictive, GaussianPredictive, Predictive


@dataclass(frozen=True)
class Case:
    """A predictive with all that a metric may need."""

    predictive: Predictive
    y: np.ndarray
    reference: Predictive
    ood: Predictive
    validation: tuple[Predictive, np.ndarray]


def classes(seed: int, n: int, k: int, draws: int, positions: tuple[int, ...], sharp: float) -> Case:
    """Random probabilities, among them ties, exact zeros and ones, and a class that no label has."""
    rng = np.random.default_rng(seed)

    def probs(examples: int) -> CategoricalPredictive:
        p = rng.dirichlet(np.full(k, sharp), size=(1, draws, examples, *positions))
        kind = rng.integers(0, 4, size=p.shape[:-1])
        certain = np.eye(k)[rng.integers(0, k, size=p.shape[:-1])]
        p = np.where((kind == 0)[..., None], certain, p)
        p = np.where((kind == 1)[..., None], np.full(k, 1 / k), p)
        return CategoricalPredictive(p, rng.integers(-3, 3, size=(*p.shape[:-1], 1)) / 2)

    labels = rng.integers(0, max(1, k - 1), size=(n, *positions))
    others = rng.integers(0, k, size=(n + 2, *positions))
    return Case(probs(n), labels, probs(n), probs(n + 1), (probs(n + 2), others))


def reals(seed: int, n: int, d: int, draws: int, positions: tuple[int, ...], spread: float) -> Case:
    """Random mixtures, with one noise for all or one for each mean."""
    rng = np.random.default_rng(seed)

    def mixture(examples: int, count: int) -> GaussianPredictive:
        means = spread * rng.normal(size=(1, count, examples, *positions, d))
        noise = 0.7 if seed % 2 else rng.uniform(0.4, 1.5, size=means.shape)
        return GaussianPredictive(means, noise)

    y = spread * rng.normal(size=(n, *positions, d))
    others = spread * rng.normal(size=(n + 2, *positions, d))
    validation = mixture(n + 2, draws), others
    return Case(mixture(n, draws), y, mixture(n, draws + 1), mixture(n + 1, draws), validation)


def mean_probs(predictive: Predictive) -> np.ndarray:
    """Mean probabilities, one row per point."""
    each = predictive.arrays["probs"][0]
    return np.mean(each, axis=0).reshape(-1, each.shape[-1])


def normals(predictive: Predictive) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """For each point and output, means and scales of all draws."""
    means, noise = (predictive.arrays[name][0] for name in ("means", "noise"))
    points = [array.reshape(len(array), -1, array.shape[-1]) for array in (means, noise)]
    return [
        [(points[0][:, i, j], points[1][:, i, j]) for j in range(means.shape[-1])]
        for i in range(points[0].shape[1])
    ]


def labels(case: Case) -> np.ndarray:
    return case.y.reshape(-1)


CASES = {"classes": classes, "reals": reals}
Oracle = Callable[[Case], float]
