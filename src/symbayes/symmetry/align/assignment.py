"""Linear assignment of units to units, with signs.

For Gram matrices ``G_x`` of the terms on which the set x of signs acts, the value of putting unit j in place
i is ``max_s sum_x prod_{k in x} s_k G_x[i, j]`` over the signs s; the permutation maximises the sum of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from symbayes.symmetry.group.patterns import Pattern, sign_choices, together, weight


def best_signs(grams: Mapping[Pattern, np.ndarray], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The best value of every pair over the named signs, and the number of the choice that gives it.

    Groups of signs that share no term are chosen apart, so that many signs cost no more than their groups.
    """
    apart = together(grams, names)
    values = sum((gram for pattern, gram in grams.items() if pattern.isdisjoint(names)), np.zeros(()))
    numbers = np.zeros((), np.int8 if len(names) < 8 else np.int64)
    for group in apart:
        found, chosen = _best_of_group(
            {pattern: gram for pattern, gram in grams.items() if not pattern.isdisjoint(group)}, group
        )
        values = values + found
        for k, name in enumerate(group):
            numbers = numbers | ((chosen >> k & 1).astype(numbers.dtype) << names.index(name))
    return values, np.broadcast_to(numbers, values.shape)


def _best_of_group(
    grams: Mapping[Pattern, np.ndarray], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    values, chosen = np.zeros(()), np.zeros((), np.int8)
    for number, choice in enumerate(sign_choices(names)):
        value = sum((weight(pattern, choice) * gram for pattern, gram in grams.items()), np.zeros(()))
        if number == 0:
            values, chosen = value, np.zeros(value.shape, np.int8)
        else:
            chosen[value > values] = number
            values = np.maximum(values, value)
    return values, chosen


def assign(values: np.ndarray) -> np.ndarray:
    """The permutation p that maximises ``sum_i values[i, p[i]]``, for each matrix of a batch."""
    flat = values.reshape(-1, *values.shape[-2:])
    found = np.empty(flat.shape[:-1], np.int64)
    staying = np.array([stays(matrix) for matrix in flat], bool)
    found[staying] = np.arange(flat.shape[-1])
    todo = np.flatnonzero(~staying)
    if len(todo) == 1:
        found[todo[0]] = _solve(flat[todo[0]])
    elif len(todo):
        found[todo] = list(pool().map(_solve, flat[todo]))
    return found.reshape(values.shape[:-1])


def stays(values: np.ndarray, rounds: int = 16) -> bool:
    """Whether the identity is found to be the best assignment, which late in an ascent it mostly is.

    It is if there are potentials v with ``v[j] >= v[i] + values[i, j] - values[i, i]``; they are sought by
    relaxation (Bellman-Ford), and not at all if exchanging two units already gains.
    """
    diagonal = np.diagonal(values)
    rounding = 1e-7 * float(np.max(np.abs(diagonal), initial=0.0))
    loss = values - diagonal[:, None]
    if np.max(loss) <= rounding:
        return True
    if np.max(loss + loss.T) > rounding:
        return False
    potentials, sums = np.zeros(len(values)), np.empty_like(loss, dtype=np.float64)
    for _ in range(rounds):
        raised = np.add(loss, potentials[:, None], out=sums).max(0)
        if np.all(raised <= potentials + rounding):
            return True
        potentials = raised
    return False


def _solve(matrix: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment  # slow to import

    return linear_sum_assignment(matrix, maximize=True)[1]


def total(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The value of an assignment, for each matrix of a batch."""
    return np.take_along_axis(values, rows[..., None], -1).sum((-2, -1), dtype=np.float64)


@cache
def pool() -> Any:
    """Threads for assignments, which the solver runs outside the interpreter's lock."""
    return ThreadPoolExecutor(thread_name_prefix="assignment")
