"""Which of many networks to keep, so that their average predicts nearly what all of them do.

From the predictions f_i of the networks (at any inputs; no labels are needed) and the target t, the j-th one
to be kept is that which brings the average nearest to it:

    i_j = argmin_i |(f_{i_1} + ... + f_{i_{j-1}} + f_i) / j - t|^2

None is kept twice.

Reference: Chen, Welling & Smola (2010), Super-samples from kernel herding.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int64

from symbayes.specs import require


def herded(
    predictions: Float[np.ndarray, "network ..."], target: np.ndarray, count: int
) -> Int64[np.ndarray, " count"]:
    """The numbers of the networks to keep, in the order in which they were chosen."""
    flat = np.asarray(predictions, np.float64).reshape(len(predictions), -1)
    require(count <= len(flat), f"{count} networks are to be kept, and there are {len(flat)}")
    toward = np.asarray(target, np.float64).ravel()
    squares = np.einsum("np,np->n", flat, flat)
    inner = flat @ flat.T
    along = flat @ toward
    chosen: list[int] = []
    for size in range(1, count + 1):
        # |s + f - j t|^2 but for what is the same for all.
        costs = squares + 2 * (inner[:, chosen].sum(axis=1) - size * along)
        costs[chosen] = np.inf
        chosen.append(int(np.argmin(costs)))
    return np.array(chosen, np.int64)
