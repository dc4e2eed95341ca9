"""Numbers of transpositions: how far a permutation is from the identity, and permutations at a given
distance.

The smallest number of transpositions whose product is a permutation of n things is ``n - cycles``.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, UInt32

from symbayes import trees
from symbayes.symmetry.group.element import Element, module_of

Key = PRNGKeyArray | UInt32[Array, "2"]


def count(permutation: Int[Array | np.ndarray, "*batch n"]) -> Any:
    """``n - cycles`` of a permutation of n things."""
    module, n = module_of(permutation), permutation.shape[-1]
    # The smallest member of each cycle, found by doubling: after k rounds the label is the minimum over 2^k
    # steps.
    label = module.broadcast_to(np.arange(n, dtype=permutation.dtype), permutation.shape)
    jump = permutation
    for _ in range(math.ceil(math.log2(max(n, 2)))):
        label = module.minimum(label, module.take_along_axis(label, jump, axis=-1))
        jump = module.take_along_axis(jump, jump, axis=-1)
    return n - (label == np.arange(n)).sum(axis=-1)


def transpositions(elements: Element) -> dict[str, trees.Array]:
    """The number of transpositions of an element, per permuted index and in all (``"total"``).

    A batch of elements gives a batch of numbers.  For an index that is permuted separately for every value of
    another (the dimensions of each head), the number is the sum over these values.
    """
    found = {name: count(rows).sum(axis=-1) for name, rows in elements.permutations.items()}
    return found | {"total": sum(found.values(), start=np.zeros((), np.int32))}


def random_permutation(key: Key, n: int, distance: int | None = None) -> Int[Array, ...]:
    """A uniform permutation of n things, of all or of those that take exactly `distance` transpositions.

    Thing i joins the cycle of an earlier one (i ways) or opens its own: ``c(i+1, k) = c(i, k) + i c(i,
    k-1)`` counts those of i+1 things at distance k (Stirling numbers of the first kind), and walking the
    recursion back draws one.
    """
    if distance is None:
        return jax.random.permutation(key, n)
    if not 0 <= distance < n:
        raise ValueError(f"a permutation of {n} things takes 0 to {n - 1} transpositions, not {distance}")
    if distance == 0:
        return jnp.arange(n)
    log_join = jnp.asarray(_log_join(n, distance))

    def insert(state, i):
        left, permutation = state
        chance, place = jax.random.split(jax.random.fold_in(key, i))
        joins = jnp.log(jax.random.uniform(chance)) < log_join[i, left]
        j = jnp.where(joins, jax.random.randint(place, (), 0, i), i)
        a, b = permutation[i], permutation[j]
        return (left - joins, permutation.at[i].set(b).at[j].set(a)), None

    # From the last transposition to the first, the product is the inverse of the walk: as uniform, as far.
    start = (jnp.asarray(distance), jnp.arange(n))
    return jax.lax.scan(insert, start, jnp.arange(1, n), reverse=True)[0][1]


@functools.lru_cache(maxsize=64)
def _log_join(n: int, distance: int) -> np.ndarray:
    """The log-probability that thing i joins an earlier one, with k transpositions left for things 0 to i."""
    counts = np.full(distance + 1, -np.inf)
    counts[0] = 0.0
    table = np.full((n, distance + 1), -np.inf)
    for i in range(1, n):
        joining = np.log(i) + np.concatenate([[-np.inf], counts[:-1]])
        counts = np.logaddexp(counts, joining)
        possible = np.isfinite(counts)
        table[i, possible] = joining[possible] - counts[possible]
    return table
