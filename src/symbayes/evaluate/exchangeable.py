"""Do all units of a layer share one marginal?  An exact test from independent chains.

The posterior of a network whose units may be permuted is the same after any permutation: all units of a layer
have one marginal (the corollary of Laurent et al. 2024).  A chain started in a way that prefers no unit is,
for every number of its units, as likely with its units in any other order, whole trajectories at a time.  So
units are relabelled at random within each independent chain, which keeps inputs, draws and their
autocorrelation as they are, and the variance between units of the means over chains and draws is compared: if
units differ in the same way in all chains, it is larger than after relabelling.  The p-value is exact for
any length of chains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import finite

PERMUTATIONS = 999


@dataclass(frozen=True)
class UnitTest:
    """The share of the variance that lies between units, what relabelling leaves of it, and the p-value."""

    share: float
    expected: float
    p_value: float


def unit_test(weights: ArrayLike, permutations: int = PERMUTATIONS, seed: int = 0) -> UnitTest:
    """Of (chain, draw, input, unit), or (chain, draw, unit): the weights that lead into each unit.

    Compared are the means of the weights and of their squares, of every input by itself.
    """
    w = finite(weights, "weights")
    if w.ndim < 3 or w.shape[0] < 2 or w.shape[-1] < 2:
        raise ValueError(
            "the test takes weights (chain, draw, ..., unit) of two or more independent chains and units, "
            f"not {w.shape}: within one chain, every order of the units gives the same variance."
        )
    w = w.reshape(*w.shape[:2], -1, w.shape[-1])
    # (chain, unit, feature): a unit's trajectories count by their means, which is all that is compared.
    features = np.concatenate([w.mean(1), (w**2).mean(1)], axis=1).transpose(0, 2, 1)
    spread = features.std((0, 1))
    features = np.ascontiguousarray((features - features.mean((0, 1))) / np.where(spread > 0, spread, 1))
    total = float(np.sum(np.var(features, axis=(0, 1)))) or 1.0

    def between(orders: np.ndarray) -> float:
        # One chain after another, which is many times faster than one gather over all chains.
        labelled = sum(chain.take(order, 0) for chain, order in zip(features, orders, strict=True))
        return float(np.sum(np.var(labelled / len(features), axis=0))) / total

    rng, units = np.random.default_rng(seed), np.tile(np.arange(w.shape[-1]), (len(w), 1))
    observed = between(units)
    others = [between(rng.permuted(units, axis=1)) for _ in range(permutations)]
    as_large = 1 + int(np.sum(np.array(others) >= observed * (1 - 1e-12)))
    return UnitTest(observed, float(np.mean(others)), as_large / (1 + permutations))
