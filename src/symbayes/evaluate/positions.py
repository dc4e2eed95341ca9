"""Scores of outputs with positions, such as the pixels of a picture.

Intersection over union compares, class by class, the set of points that are predicted to be of the class with
the set that are.  Scores of positions are means over examples: a map shows where predictions are good.

Reference: Everingham et al. (2010), The Pascal visual object classes (VOC) challenge.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from symbayes.evaluate.inputs import finite, labelled
from symbayes.evaluate.predictions import SMALLEST_PROBABILITY
from symbayes.evaluate.regression import mixture_log_density, targeted


def confusion(probs: ArrayLike, y: ArrayLike) -> np.ndarray:
    """How many points of each class (rows) have each class as the most probable (columns): (k, k)."""
    p, labels = labelled(probs, y)
    k = p.shape[1]
    return np.bincount(labels * k + p.argmax(axis=1), minlength=k * k).reshape(k, k)


def class_iou(counts: ArrayLike) -> np.ndarray:
    """Of each class the intersection over the union, from `confusion`; nan for one that is nowhere: (k,)."""
    table = finite(counts, "counts")
    if table.ndim != 2 or table.shape[0] != table.shape[1] or (table < 0).any():
        raise ValueError(f"counts must be (k, k), none of them negative, but has shape {table.shape}.")
    both = np.diagonal(table)
    union = table.sum(axis=0) + table.sum(axis=1) - both
    return np.where(union > 0, both / np.maximum(union, 1), np.nan)


def mean_iou(probs: ArrayLike, y: ArrayLike) -> float:
    """Mean over classes of intersection over union; classes neither predicted nor there do not count."""
    return iou_of(*counted(probs, y))


def counted(probs: ArrayLike, y: ArrayLike) -> tuple[np.ndarray]:
    """The table of `confusion`, which adds up over examples."""
    return (confusion(probs, y),)


def iou_of(counts: np.ndarray) -> float:
    """From `confusion`."""
    return float(np.nanmean(class_iou(counts)))


@dataclass(frozen=True)
class ClassMaps:
    """Scores of every position, means over examples, each with the shape of the positions."""

    accuracy: np.ndarray
    nll: np.ndarray
    brier: np.ndarray
    entropy: np.ndarray


def class_maps(probs: ArrayLike, y: ArrayLike) -> ClassMaps:
    """Where labels are predicted well: accuracy, NLL, Brier score and entropy of each position."""
    p, labels = labelled(probs, y)
    shape = np.shape(y)
    of_label = p[np.arange(len(labels)), labels]

    def over_examples(each: np.ndarray) -> np.ndarray:
        return np.asarray(each.reshape(shape).mean(axis=0))

    return ClassMaps(
        over_examples(p.argmax(axis=1) == labels),
        over_examples(-np.log(np.maximum(of_label, SMALLEST_PROBABILITY))),
        over_examples(1 - 2 * of_label + np.sum(p**2, axis=1)),
        over_examples(entr(p).sum(axis=1)),
    )


@dataclass(frozen=True)
class RealMaps:
    """Scores of every position: root mean squared error over examples and outputs, and mean NLL in nats."""

    rmse: np.ndarray
    nll: np.ndarray


def real_maps(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike) -> RealMaps:
    """Where real targets are predicted well, from an equal mixture of normals (s, n, ..., d)."""
    m, sigma, target = targeted(means, scale, y)
    squares = (m.mean(axis=0) - target) ** 2
    losses = -mixture_log_density(m, sigma, target)
    return RealMaps(np.asarray(np.sqrt(squares.mean(axis=(0, -1)))), np.asarray(losses.mean(axis=0)))
