"""Numbers of transpositions against direct counts."""

import itertools
import math
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from symbayes.symmetry import Element, transpositions
from symbayes.symmetry.group.transpositions import count, random_permutation


def cycles(permutation) -> int:
    seen, found = set(), 0
    for start in range(len(permutation)):
        if start not in seen:
            found += 1
        while start not in seen:
            seen.add(start)
            start = permutation[start]
    return found


@given(st.sampled_from([1, 2, 5, 16, 33]).flatmap(lambda n: st.permutations(range(n))))
def test_count_is_size_minus_cycles(permutation):
    assert int(count(jnp.asarray(permutation))) == len(permutation) - cycles(permutation)


def test_batches_and_totals():
    rows = {"a": jnp.array([[[1, 0, 2]], [[1, 2, 0]]]), "b": jnp.array([[[0, 1], [1, 0]], [[1, 0], [1, 0]]])}
    counted = transpositions(Element(rows, {}, {}))
    assert {name: numbers.tolist() for name, numbers in counted.items()} == {
        "a": [1, 2],
        "b": [1, 2],
        "total": [2, 4],
    }


def test_permutations_at_a_distance_are_uniform():
    """All 11 permutations of 4 things that take two transpositions come about equally often."""
    draws = 4400
    drawn = jax.vmap(lambda key: random_permutation(key, 4, 2))(jax.random.split(jax.random.key(0), draws))
    seen = Counter(map(tuple, np.asarray(drawn).tolist()))
    possible = [p for p in itertools.permutations(range(4)) if 4 - cycles(p) == 2]
    assert set(seen) == set(possible)
    expected = draws / len(possible)
    chi_squared = sum((n - expected) ** 2 / expected for n in seen.values())
    assert chi_squared < 29.6  # the 99.9 % quantile with 10 degrees of freedom


def test_a_random_permutation_of_512_takes_about_505():
    """Uniform permutations have about log(n) + 0.577 cycles."""
    drawn = jax.vmap(lambda key: jax.random.permutation(key, 512))(jax.random.split(jax.random.key(1), 400))
    assert abs(float(count(drawn).mean()) - (512 - math.log(512) - 0.577)) < 0.5
