"""How good predictions of classes are: accuracy and proper scores.

With the mean probability ``p_{ik}`` of class ``k`` at point ``i`` of ``n``, the label ``y_i``, and
``[y_i = k]`` one where that holds and zero elsewhere,

    accuracy = share of points i with argmax_k p_{ik} = y_i
    NLL = - 1/n sum_i log p_{i,y_i}
    Brier = 1/n sum_i sum_k (p_{ik} - [y_i = k])^2

Probabilities are (n, k) with labels (n,), or (n, ..., k) with labels (n, ...) for outputs with positions:
every position of every example counts as a point.  Each score is the mean of one number for every example,
which a separate function returns.
"""

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import by_example, labelled

SMALLEST_PROBABILITY = float(np.finfo(np.float32).tiny)
MOST_GUESSES = 5
"""Classes among which the label is looked for by `top_k`."""


def accuracy(probs: ArrayLike, y: ArrayLike) -> float:
    """Share of points whose most probable class is the label; of equal maxima the first counts."""
    return float(np.mean(hits(probs, y)))


def hits(probs: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Of each example, the share of its points whose most probable class is the label: (n,)."""
    p, labels = labelled(probs, y)
    return by_example(p.argmax(axis=1) == labels, len(np.asarray(y)))


def top_k(probs: ArrayLike, y: ArrayLike, k: int = MOST_GUESSES) -> float:
    """Share of points whose label is among the `k` most probable classes; of equal ones the first count."""
    return float(np.mean(top_k_hits(probs, y, k)))


def top_k_hits(probs: ArrayLike, y: ArrayLike, k: int = MOST_GUESSES) -> np.ndarray:
    """Of each example, the share of its points whose label is among the `k` most probable classes: (n,)."""
    p, labels = labelled(probs, y)
    if k < 1:
        raise ValueError(f"k must be at least 1, but is {k}.")
    own = p[np.arange(len(labels)), labels][:, None]
    earlier = np.arange(p.shape[1]) < labels[:, None]
    rank = np.sum((p > own) | ((p == own) & earlier), axis=1)
    return by_example(rank < k, len(np.asarray(y)))


def nll(probs: ArrayLike, y: ArrayLike) -> float:
    """Mean negative log likelihood of the labels in nats.

    Probabilities below the smallest normal float32 (1.2e-38) count as that, so one point costs at most
    87.3 nats and a single underflow does not make the mean infinite.
    """
    return float(np.mean(log_losses(probs, y)))


def log_losses(probs: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Of each example, the mean negative log likelihood of its labels: (n,), in nats."""
    p, labels = labelled(probs, y)
    of_label = p[np.arange(len(labels)), labels]
    return by_example(-np.log(np.maximum(of_label, SMALLEST_PROBABILITY)), len(np.asarray(y)))


def brier(probs: ArrayLike, y: ArrayLike) -> float:
    """Brier score `mean_i sum_k (p_ik - [y_i = k])^2`: summed over classes, from 0 to 2 (Brier 1950)."""
    return float(np.mean(brier_losses(probs, y)))


def brier_losses(probs: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Of each example, the Brier score of its points: (n,)."""
    p, labels = labelled(probs, y)
    residual = p.copy()
    residual[np.arange(len(labels)), labels] -= 1
    return by_example(np.sum(residual**2, axis=1), len(np.asarray(y)))
