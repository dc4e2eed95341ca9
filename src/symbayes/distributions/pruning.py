"""Networks with most weights set to zero, chosen by what a Gaussian knows of them, or by their size."""

from __future__ import annotations

from typing import Literal

import jax
import numpy as np
from jaxtyping import Float

from symbayes import trees
from symbayes.distributions.gaussian import Gaussian
from symbayes.distributions.layout import Layout
from symbayes.specs import require
from symbayes.trees import Variables


def prune(gaussian: Gaussian, keep: float = 0.1, by: Literal["sigma", "signal"] = "sigma") -> Variables:
    """The mean network with all but the share `keep` of its weights set to zero.

    Kept are the weights with the lowest sigma, or with the highest signal |mean| / sigma
    (Graves 2011; Blundell et al. 2015).
    """
    require(by in ("sigma", "signal"), f"weights are pruned by 'sigma' or by 'signal', not by {by!r}")
    layout = Layout(trees.shapes(gaussian.mean))
    sigma = layout.weight_vector(gaussian.scale)
    if by == "sigma":
        return _keep_best(gaussian.mean, layout, -sigma, keep)
    size = np.abs(layout.weight_vector(gaussian.mean))
    certain = np.where(size > 0, np.inf, 0.0)
    signal = np.divide(size, sigma, out=certain, where=sigma > 0)
    return _keep_best(gaussian.mean, layout, signal, keep)


def keep_largest(variables: Variables, keep: float) -> Variables:
    """The network with all but the share `keep` of its weights, the largest in size, set to zero."""
    layout = Layout(trees.shapes(variables))
    return _keep_best(variables, layout, np.abs(layout.weight_vector(variables)), keep)


def _keep_best(
    variables: Variables, layout: Layout, worth: Float[np.ndarray, " weight"], keep: float
) -> Variables:
    require(0 < keep <= 1, f"the share to keep is above 0 and at most 1, not {keep}")
    kept = np.zeros(worth.size, bool)
    kept[np.argsort(-worth, kind="stable")[: round(keep * worth.size)]] = True
    held = layout.weight_tree(kept)
    weights = {part: variables[part] for part in held}
    zeroed = jax.tree.map(lambda leaf, mask: np.where(mask, leaf, np.zeros_like(leaf)), weights, held)
    return {**variables, **zeroed}
