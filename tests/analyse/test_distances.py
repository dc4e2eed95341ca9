"""Transpositions between draws."""

import dataclasses
import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes.analyse.distances import distances, expected_transpositions
from symbayes.engine import Opened, open_run
from symbayes.symmetry import Alignment


def cycles(permutation: tuple[int, ...]) -> int:
    left, count = set(range(len(permutation))), 0
    while left:
        at, count = left.pop(), count + 1
        while permutation[at] in left:
            at = permutation[at]
            left.remove(at)
    return count


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_null_value_is_the_mean_over_all_permutations(n: int) -> None:
    counts = [n - cycles(permutation) for permutation in itertools.permutations(range(n))]
    assert expected_transpositions(n) == pytest.approx(np.mean(counts))


@given(common=st.permutations(range(6)))
def test_distances_do_not_depend_on_the_common_order(hmc: Opened, common: list[int]) -> None:
    """Chain 1 differs from chain 0 by a 3-cycle, draws of one chain not at all."""
    group = hmc.group
    base = np.asarray(common)
    turned = base[[1, 2, 0, 3, 4, 5]]
    rows = np.stack([np.tile(base, (4, 1)), np.tile(turned, (4, 1))])[:, :, None]
    still = jax.tree.map(lambda leaf: jnp.tile(leaf, (2, 4, *(1,) * leaf.ndim)), group.identity())
    elements = dataclasses.replace(still, permutations={"hidden1": jnp.asarray(rows, jnp.int32)})
    draws = sb.Draws([])
    alignment = Alignment(draws, elements, np.zeros(2), Alignment(draws, still, np.zeros(2)))
    (layer,) = distances(alignment, group).values()
    assert (layer.units, layer.between, layer.within, layer.control) == (6, 2.0, 0.0, 0.0)
    assert layer.random == pytest.approx(6 - (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5 + 1 / 6))


def test_one_draw_per_chain_has_no_distance_within(runs: dict[str, Path]) -> None:
    ensemble = open_run(runs["ensemble"])
    alignment = sb.symmetry.align(ensemble.draws, ensemble.group)
    (layer,) = distances(alignment, ensemble.group).values()
    assert layer.within is None
    assert layer.control is None
    assert layer.between is not None
    assert 0 <= layer.between <= 5
