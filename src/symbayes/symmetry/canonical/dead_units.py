"""Scales of dead units, which no canonical form fixes: the weights that such a unit has left get norm one.

A unit without incoming weights has no unit norm; a unit with a zero side has no smallest mass, since the sum
of squares falls for ever as its other side goes to zero.  When all other scales are fixed, the open ones s
minimise the convex

    sum_k (|w_k|^2 exp(2 <e_k, s>) - 2 a_k <e_k, s>)

over what they act on: groups k of weights that scale alike, but those that are zero; a_k is one over the
number of groups that the unit has (of two units tied by a group, the one with more).  A unit tied to no other
dead one then has weights of norm one.  The minimum is reached at one network of every orbit, also where dead
units are tied to one another: moving along the orbit adds to the logarithms what the minimum takes away.
Running statistics count as weights here, since they may be all that a scale acts on.

It is the norm that is fixed and not the geometric mean of the groups: weights of dead units decay at
different speeds while a network trains, and where most of a unit's have come close to nothing, a mean of one
would make the others huge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbayes.symmetry.canonical.masses import Piece, pieces_of
from symbayes.symmetry.group.element import spread
from symbayes.symmetry.group.group import Symmetry

STEPS = 1000
LONGEST = 1.0
"""By how much a step of Newton's method may change the logarithm of a norm."""
PRECISION = 1e-12

Logs = Mapping[str, np.ndarray]
"""Numbers for each value of each scale, with draws as first axis."""


def known_mass(piece: Piece, mass: np.ndarray, number: int, logs: Logs, fixed: Logs) -> np.ndarray:
    """The mass of each value of a piece's scale, by its number, where all other scales on it are fixed."""
    for k, other in enumerate(piece.acting):
        if k != number:
            sizes = [mass.shape[place + 1] for place in other.places]
            factor = np.exp(2 * other.exponent * logs[other.name]) * fixed[other.name]
            places = (0, *(place + 1 for place in other.places))
            mass = mass * spread(factor.reshape(-1, *sizes), places, mass.ndim)
    return piece.along(mass, piece.acting[number].places).reshape(len(mass), -1)


def fix_dead(
    group: Symmetry, flat: Mapping[str, np.ndarray], logs: Logs, fixed: Logs
) -> dict[str, np.ndarray]:
    """Log-scales of a batch, with those that are not fixed found as well."""
    pieces = (*pieces_of(group), *pieces_of(group, weighs=False))
    found = {name: np.array(log) for name, log in logs.items()}
    some = np.zeros(len(next(iter(flat.values()))), bool)
    for mask in fixed.values():
        some |= ~np.all(mask, axis=1)
    for number in np.flatnonzero(some):
        one = {path: leaf[number : number + 1] for path, leaf in flat.items()}
        _fix_one(
            pieces,
            [np.asarray(piece.measure(one)[0]) for piece in pieces],
            {name: log[number] for name, log in found.items()},
            {name: mask[number] for name, mask in fixed.items()},
        )
    return found


def _fix_one(
    pieces: Sequence[Piece],
    masses: Sequence[np.ndarray],
    logs: Mapping[str, np.ndarray],
    fixed: Mapping[str, np.ndarray],
) -> None:
    """Fix in place all open scales of one network."""
    starts = dict(zip(logs, np.cumsum([0, *(log.size for log in logs.values())]), strict=False))
    rows, columns, exponents, sizes, count = [], [], [], [], 0
    for piece, mass in zip(pieces, masses, strict=True):
        cells = np.nonzero(np.atleast_1d(_acts(piece, mass, fixed) & (mass > 0)))
        size = np.log(np.atleast_1d(mass)[cells]) / 2
        for acting in piece.acting:
            shape = [mass.shape[place] for place in acting.places]
            value = np.ravel_multi_index([*(cells[place] for place in acting.places)] or [[0]], shape or [1])
            value = np.broadcast_to(value, size.shape)
            size = size + acting.exponent * logs[acting.name][value]
            still_open = ~fixed[acting.name][value]
            rows.append(count + np.flatnonzero(still_open))
            columns.append(starts[acting.name] + value[still_open])
            exponents.append(np.full(int(still_open.sum()), acting.exponent))
        sizes.append(size)
        count += len(size)
    if not count:
        return
    from scipy.sparse import csr_array  # slow to import

    where = (np.concatenate(rows), np.concatenate(columns))
    table = csr_array((np.concatenate(exponents), where), (count, sum(log.size for log in logs.values())))
    used = np.unique(where[1])
    change = _smallest(table[:, used], np.concatenate(sizes))
    for name, start in starts.items():
        mine = (used >= start) & (used < start + logs[name].size)
        logs[name][used[mine] - start] += change[mine]


def _smallest(table: Any, sizes: np.ndarray) -> np.ndarray:
    """The scales of the minimum, for exponents (group, scale) and the logarithms of the groups' norms.

    By Newton's method from geometric means of one, with steps that change the logarithm of no norm by much.
    """
    acts = (table != 0).astype(float)
    share = 1 / acts.multiply(acts.sum(axis=0)).max(axis=1).toarray().ravel()
    found = np.linalg.lstsq((table.T @ table).toarray(), -(table.T @ sizes), rcond=1e-9)[0]
    for _ in range(STEPS):
        masses = np.exp(2 * (sizes + table @ found))
        slope = table.T @ (masses - share)
        if np.max(np.abs(slope)) <= PRECISION:
            break
        bent = (table.T @ (table.multiply(masses[:, None]))).toarray()
        unit = 1 / np.sqrt(np.diag(bent))
        step = -unit * np.linalg.lstsq(unit[:, None] * bent * unit, unit * slope, rcond=1e-12)[0] / 2
        found += step * min(1.0, LONGEST / np.max(np.abs(table @ step)))
    return found


def _acts(piece: Piece, mass: np.ndarray, fixed: Mapping[str, np.ndarray]) -> np.ndarray:
    """The groups of weights on which an open scale acts."""
    found = np.zeros(mass.shape, bool)
    for acting in piece.acting:
        mask = fixed[acting.name].reshape([mass.shape[place] for place in acting.places])
        found |= ~spread(mask, acting.places, mass.ndim)
    return found
