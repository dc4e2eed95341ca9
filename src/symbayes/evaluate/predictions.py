"""How good predictions are: accuracy and proper scores."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from symbayes.evaluate.inputs import finite, labelled

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


def rmse(mean: ArrayLike, y: ArrayLike) -> float:
    """Root of the mean squared error over all entries; `mean` and `y` have the same shape."""
    predicted, target = finite(mean, "mean"), finite(y, "y")
    if predicted.shape != target.shape:
        raise ValueError(f"mean and y must have one shape, but have {predicted.shape} and {target.shape}.")
    return float(np.sqrt(np.mean((predicted - target) ** 2)))


def mixture_nll(means: ArrayLike, scale: ArrayLike | float, y: ArrayLike) -> float:
    """Negative log likelihood in nats of the equal mixture of Gaussians that the draws predict.

    `-mean_i log( 1/S sum_s prod_j N(y_ij | m_sij, scale^2) )` for `means` (s, n, d) and `y` (n, d);
    `scale` is a standard deviation that broadcasts to (s, n, d).
    """
    m, sigma, target = finite(means, "means"), finite(scale, "scale"), finite(y, "y")
    if m.ndim != 3 or target.shape != m.shape[1:]:
        raise ValueError(
            f"means must have shape (s, n, d) and y (n, d), but have shapes {m.shape} and {target.shape}."
        )
    if (sigma <= 0).any():
        raise ValueError("scale must be positive: it is a standard deviation.")
    try:
        sigma = np.broadcast_to(sigma, m.shape)
    except ValueError:
        raise ValueError(f"scale of shape {sigma.shape} does not broadcast to means {m.shape}.") from None
    log_density = -0.5 * ((target - m) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
    log_mixture = logsumexp(log_density.sum(axis=-1), axis=0) - np.log(m.shape[0])
    return float(-np.mean(log_mixture))
