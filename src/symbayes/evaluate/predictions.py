"""How good predictions of classes are: accuracy and proper scores.

`probs` are (n, k) with labels (n,), or (n, ..., k) with labels (n, ...) for outputs with positions: every
position of every example counts as a point.
"""

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import labelled

SMALLEST_PROBABILITY = float(np.finfo(np.float32).tiny)


def accuracy(probs: ArrayLike, y: ArrayLike) -> float:
    """Share of points whose most probable class is the label; of equal maxima the first counts."""
    p, labels = labelled(probs, y)
    return float(np.mean(p.argmax(axis=1) == labels))


def nll(probs: ArrayLike, y: ArrayLike) -> float:
    """Mean negative log likelihood of the labels in nats.

    Probabilities below the smallest normal float32 (1.2e-38) count as that, so one point costs at most
    87.3 nats and a single underflow does not make the mean infinite.
    """
    p, labels = labelled(probs, y)
    of_label = p[np.arange(len(labels)), labels]
    return float(-np.mean(np.log(np.maximum(of_label, SMALLEST_PROBABILITY))))


def brier(probs: ArrayLike, y: ArrayLike) -> float:
    """Brier score `mean_i sum_k (p_ik - [y_i = k])^2`: summed over classes, from 0 to 2 (Brier 1950)."""
    p, labels = labelled(probs, y)
    residual = p.copy()
    residual[np.arange(len(labels)), labels] -= 1
    return float(np.mean(np.sum(residual**2, axis=1)))
