"""A metric of one's own: the share of points whose label has a probability of at least one half."""

# --8<-- [start:function]
import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import by_example, labelled
from symbayes.evaluate.metric import CLASSES, Metric


def likely(probs: ArrayLike, y: ArrayLike) -> float:
    """Share of points whose label has a probability of at least one half."""
    return float(np.mean(likely_each(probs, y)))


def likely_each(probs: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Of each example, the share of its points: (n,)."""
    p, labels = labelled(probs, y)  # refuses what are not probabilities and labels, by name
    return by_example(p[np.arange(len(labels)), labels] >= 0.5, len(np.asarray(y)))


# --8<-- [end:function]

# --8<-- [start:row]
LIKELY = Metric(
    name="likely",
    function=likely,
    each=likely_each,
    kinds=CLASSES,
    takes=("mean",),
    needs=("targets",),
    format=".1%",
    better="higher",
    paper="",
    description="share of points whose label has a probability of at least one half",
    shown=False,
)
# --8<-- [end:row]
