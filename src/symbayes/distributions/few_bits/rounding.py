"""Rounding of a layer's weights, of which later ones take up the errors of earlier ones.

With A = E[a a'] of the layer's inputs a (and a little of its mean diagonal added, so that it has an inverse)
and W the weights, (input, output), an error E = W - Q of all weights changes the outputs by tr E'AE in the
mean square.  Row after row is rounded to multiples of its step, and what is lost is put upon the rows that
follow: with A^-1 = U'U, U upper triangular,

    Q_r = s_r round(W_r / s_r),   W_q <- W_q - U_rq / U_rr (W_r - Q_r)   for q > r

which leaves tr E'AE = sum_r |(W_r - Q_r) / U_rr|^2.  So a row whose step is proportional to U_rr, what its
weights are free to change by while the later ones follow, costs as much as any other: steps are s_r = c U_rr.

References: Hassibi & Stork (1993), Second order derivatives for network pruning: optimal brain surgeon;
Frantar et al. (2023), GPTQ: accurate post-training quantization for generative pre-trained transformers.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64, Int64

DAMPING = 0.01
"""Of the mean diagonal of A, added to it."""

TOGETHER = 32
"""Rows whose errors are put upon later ones at once."""


def freedom(moment: Float[np.ndarray, "*lead i i"]) -> Float64[np.ndarray, "*lead i i"]:
    """U, from the second moment of a layer's inputs."""
    moment = np.asarray(moment, np.float64)
    size = moment.shape[-1]
    mean = np.trace(moment, axis1=-2, axis2=-1)[..., None, None] / size
    damped = moment + (DAMPING * mean + np.finfo(np.float32).tiny) * np.eye(size)
    # The lower factor of the inverse, turned: A^-1 = L L' = U'U with U = L'.
    return np.swapaxes(np.linalg.cholesky(np.linalg.inv(damped)), -2, -1)


def compensated(
    weights: Float[np.ndarray, "n i o"],
    steps: Float[np.ndarray, " i"],
    free: Float64[np.ndarray, "n i i"],
    instead: Float[np.ndarray, "n i o"] | None = None,
) -> Int64[np.ndarray, "n i o"]:
    """The integers of some networks' weights, in units of each row's step.

    Rows whose step is not finite are not rounded: they are replaced by `instead`, and their integers are 0.
    """
    left = np.array(weights, np.float64)
    integers = np.zeros(left.shape, np.int64)
    steps = np.asarray(steps, np.float64)
    for first in range(0, len(steps), TOGETHER):
        block = slice(first, min(first + TOGETHER, len(steps)))
        # What later blocks take up is one product of matrices, when all rows of this one are rounded.
        lost = np.empty(left[:, block].shape)
        for row in range(block.start, block.stop):
            step = steps[row]
            if np.isfinite(step):
                integers[:, row] = np.rint(left[:, row] / step)
                kept = integers[:, row] * step
            else:
                kept = 0.0 if instead is None else instead[:, row]
            own = (left[:, row] - kept) / free[:, row, row, None]
            lost[:, row - first] = own
            left[:, row + 1 : block.stop] -= free[:, row, row + 1 : block.stop, None] * own[:, None]
        left[:, block.stop :] -= np.swapaxes(free[:, block, block.stop :], 1, 2) @ lost
    return integers
