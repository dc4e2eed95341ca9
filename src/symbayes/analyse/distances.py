"""How far apart the orders of units are: numbers of transpositions, layer by layer.

The element g_i of a draw moves it from its own order to the common one, so ``g_j^-1 g_i`` moves draw i to the
order of draw j.  A random permutation of n units takes ``n - H_n`` transpositions on average, where H_n is
the n-th harmonic number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import numpy as np

from symbayes import symmetry, trees
from symbayes.analyse.bounds import evenly
from symbayes.symmetry import Alignment, Element, Symmetry

PAIRS = 1000
"""The largest number of pairs of draws that are compared."""


@dataclass(frozen=True)
class LayerDistance:
    """Mean numbers of transpositions of one layer; None where there are no such pairs.

    Attributes:
        units: the number of units that can be reordered.
        between: between a draw of the first chain and one of another chain.
        within: between draws of one chain that are half its length apart.
        control: between draws of the prior.
        random: the expected number for a random permutation.
    """

    units: int
    between: float | None
    within: float | None
    control: float | None
    random: float


def distances(alignment: Alignment, group: Symmetry) -> dict[str, LayerDistance]:
    """The distances of each permuted layer and of all together (``"total"``)."""
    between, within = _between(alignment.elements, group), _within(alignment.elements, group)
    null = None if alignment.control is None else alignment.control.elements
    control = {} if null is None else _between(null, group) or _within(null, group)
    sizes = {p.name: p.size * p.copies for p in group.permutations}
    expected = {p.name: p.copies * expected_transpositions(p.size) for p in group.permutations}
    if len(sizes) > 1:
        sizes["total"], expected["total"] = sum(sizes.values()), sum(expected.values())
    return {
        name: LayerDistance(units, between.get(name), within.get(name), control.get(name), expected[name])
        for name, units in sizes.items()
    }


def expected_transpositions(n: int) -> float:
    """``n - H_n``: a random permutation of n things has H_n cycles on average."""
    return n - float(np.sum(1 / np.arange(1, n + 1)))


def _between(elements: Element, group: Symmetry) -> Mapping[str, float]:
    chains, draws = _lead(elements)
    first = np.tile(np.arange(draws), chains - 1)
    return _mean(elements, first, draws + np.arange((chains - 1) * draws), group)


def _within(elements: Element, group: Symmetry) -> Mapping[str, float]:
    chains, draws = _lead(elements)
    half = draws // 2
    first = (draws * np.arange(chains)[:, None] + np.arange(half)).ravel()
    return _mean(elements, first, first + draws - half, group)


def _lead(elements: Element) -> tuple[int, int]:
    leaves = jax.tree.leaves(elements)
    return (leaves[0].shape[0], leaves[0].shape[1]) if leaves else (0, 0)


def _mean(elements: Element, first: np.ndarray, second: np.ndarray, group: Symmetry) -> Mapping[str, float]:
    """The mean over pairs of draws, numbered chain by chain; empty where there are none."""
    if first.size == 0:
        return {}
    chosen = evenly(first.size, PAIRS)
    flat = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(-1, *leaf.shape[2:]), elements)
    pairs = (trees.index(flat, first[chosen]), trees.index(flat, second[chosen]))
    found = symmetry.transpositions(group.compose(group.inverse(pairs[0]), pairs[1]))
    return {name: float(np.mean(counts)) for name, counts in found.items()}
