"""Independently trained networks, and the distance of other networks' weights from theirs.

One half of them is the reference.  The bandwidths of the kernels are fixed once on it, so that all rows can
be compared.  The distance of the other half from it is the floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symbayes import evaluate, symmetry, trees
from symbayes.analyse.bounds import evenly
from symbayes.analyse.quality import halves
from symbayes.draws import Draws
from symbayes.draws.forward import PLAIN
from symbayes.engine import Opened
from symbayes.evaluate import Kernels
from symbayes.evaluate.mmd import unbiased
from symbayes.symmetry import Symmetry

RAW, CANONICAL = "raw", "canonical"
FORMS = (RAW, CANONICAL)


@dataclass(frozen=True)
class Reference:
    """By form: weights of the first half, (network, weight), their kernels, and the kernels of all pairs."""

    group: Symmetry
    points: Mapping[str, np.ndarray]
    kernels: Mapping[str, Kernels]
    within: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, fleet: Opened) -> Reference:
        first = halves(fleet.draws)[0]
        points = {form: in_form(first, fleet.group, form) for form in FORMS}
        between = {form: evaluate.distances(each) for form, each in points.items()}
        kernels = {form: Kernels.of(each) for form, each in between.items()}
        return cls(
            fleet.group, points, kernels, {form: kernels[form](each) for form, each in between.items()}
        )

    def apart(self, draws: Draws) -> dict[str, dict[str, float]]:
        """The unbiased squared discrepancy at matched sizes, and the p-value of a test over chains.

        The test takes the last draw of every chain, so that chains of any length may be permuted with single
        networks.  A single network is too few for either: then both are left out.
        """
        draws = different(draws)
        if draws.chains * len(draws) < 2:
            return {form: {} for form in FORMS}
        return {form: self._apart(in_form(draws, self.group, form), draws, form) for form in FORMS}

    def _apart(self, points: np.ndarray, draws: Draws, form: str) -> dict[str, float]:
        kernels, whole = self.kernels[form], self.within[form]
        total = min(len(points), len(whole))
        rows, some = evenly(len(points), total), evenly(len(whole), total)
        own = kernels(evaluate.distances(points))
        across = kernels(evaluate.distances(points, self.points[form]))
        mmd = unbiased(own[np.ix_(rows, rows)], whole[np.ix_(some, some)], across[np.ix_(rows, some)])
        found = {"mmd": mmd}
        last = np.arange(1, draws.chains + 1) * len(draws) - 1
        if draws.chains > 1:
            joined = np.block([[own[np.ix_(last, last)], across[last]], [across[last].T, whole]])
            found["p_value"] = evaluate.chain_test(joined, (draws.chains, len(whole))).p_value
        return found


def different(draws: Draws) -> Draws:
    """The draws whose weights differ: where draws are masks over one network of each chain, one of these."""
    return draws.select(draws=[0]) if draws.forward.kind == "keyed" else draws


def in_form(draws: Draws, group: Symmetry, form: str) -> np.ndarray:
    """The weights of all draws, (draw, weight), raw or in canonical form.

    Only weights are compared, so draws of a Laplace approximation are allowed, although it predicts by the
    linearised network.
    """
    moved: Any = replace(draws, forward=PLAIN)
    if form == CANONICAL:
        moved = symmetry.canonical(moved, group)
    leaves = trees.flatten(moved.variables["params"])
    count = draws.chains * len(draws)
    return np.concatenate([np.asarray(leaf).reshape(count, -1) for leaf in leaves.values()], axis=1)
