"""Which of its two signs a unit takes: rules that never end in a tie.

First the largest of a unit's incoming weights in size is positive.  Where the largest and the smallest are of
one size, or all are zero, the weights of each class at the other end decide, incoming before outgoing: the
sign is that under which they are the larger set, number by number from the largest.  A sign for which all
these sets are their own negatives stays open until classes are split further; when none is left to split, it
stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbayes.symmetry.canonical.incoming import Through, in_order, throughs
from symbayes.symmetry.canonical.refine import RESOLUTION, Refinement, rows_of
from symbayes.symmetry.group.frame import Plan


def incoming_first(plan: Plan) -> list[tuple[str, list[Through]]]:
    """The signs in the order in which they are fixed, each with its incoming weights."""
    found = {}
    for sign in plan.sign_over:
        acting = [t for t in throughs(sign, plan.terms, "sign", plan.over) if plan.terms[t.number].weighs]
        found[sign] = [through for through in acting if through.last] or acting
    return in_order(found)


def fix_by_largest(refinement: Refinement, sign: str, places: Sequence[Through]) -> None:
    """Make the largest incoming weight of every unit positive, where one is the largest."""
    most, least = np.zeros(()), np.zeros(())
    for through in places:
        rows = rows_of(refinement.evidence(through.number, through.acting), through.acting.places)
        most, least = np.maximum(most, rows.max(1)), np.minimum(least, rows.min(1))
    apart = np.abs(most + least) > RESOLUTION * np.maximum(most, -least)
    _fix(refinement, sign, np.where(apart, np.sign(most + least), 0))


def fix_by_classes(refinement: Refinement) -> bool:
    """Fix open signs by the weights of each class at the other end; whether any was."""
    fixed = False
    for sign in refinement.plan.sign_over:
        if not np.any(refinement.open[sign]):
            continue
        terms = refinement.plan.terms
        places = throughs(sign, terms, "sign", refinement.plan.over)
        found = np.zeros(refinement.open[sign].size)
        for through in sorted(places, key=lambda t: (not terms[t.number].weighs, not t.last)):
            todo = np.flatnonzero((found == 0) & refinement.open[sign].ravel())
            if todo.size:
                found[todo] = _larger_set(refinement, through, todo)
        fixed |= _fix(refinement, sign, found)
    return fixed


def _larger_set(refinement: Refinement, through: Through, units: np.ndarray) -> np.ndarray:
    """The sign under which a unit's weights are the larger set; zero where the two sets are equal."""
    axes = through.acting.places
    rows = rows_of(refinement.evidence(through.number, through.acting), axes)[units]
    cells = rows_of(refinement.cells(through.number, axes), axes)[units]
    one = np.take_along_axis(rows, np.lexsort((-rows, cells), axis=-1), -1)
    other = -np.take_along_axis(rows, np.lexsort((rows, cells), axis=-1), -1)
    apart = np.abs(one - other) > RESOLUTION * np.max(np.abs(rows), axis=1, keepdims=True, initial=0)
    first = apart.argmax(1)[:, None]
    return np.sign(np.take_along_axis(np.where(apart, one - other, 0), first, 1)[:, 0])


def leave_one(refinement: Refinement) -> bool:
    """Leave the open sign of the first unit as it is, or all that act on zeros; whether any was open."""
    for sign, over in refinement.plan.sign_over.items():
        still_open, shape = refinement.open[sign].ravel(), refinement.open[sign].shape
        if not np.any(still_open):
            continue
        acts = np.zeros(still_open.size, bool)
        for through in throughs(sign, refinement.plan.terms, "sign", refinement.plan.over):
            array = refinement.frame.arrays[through.number]
            acts |= np.any(rows_of(array, through.acting.places) != 0, axis=1)
        left = still_open & acts
        if np.array_equal(left, still_open):
            classes = [refinement.order_of(name, over) for name in over]
            left[np.lexsort((*reversed(classes), ~still_open))[0]] = False
        refinement.open[sign] = left.reshape(shape)
        return True
    return False


def _fix(refinement: Refinement, sign: str, found: np.ndarray) -> bool:
    """Flip the open signs that were found to be negative; zero stays open."""
    still_open = refinement.open[sign].ravel()
    refinement.frame.flip(sign, np.where(still_open & (found.ravel() < 0), -1, 1).astype(np.int8))
    left = still_open & (found.ravel() == 0)
    refinement.open[sign] = left.reshape(refinement.open[sign].shape)
    return bool(np.any(left != still_open))
