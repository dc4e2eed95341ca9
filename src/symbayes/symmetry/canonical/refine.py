"""A total order of units and a total rule for signs, which the weights alone decide: colour refinement.

Units are in ordered classes ("colours"), at first by their largest incoming weight.  A class is split by all
weights of its units, incoming first, each kind sorted within the classes of the units at the other end; that
splits neighbours in turn, until nothing splits any more (Weisfeiler, Leman 1968).  A sign is fixed where the
weights on which no other open sign acts are not the same set when it is flipped.  Then one unit of the first
class that is left is put before the others, and so on (McKay 1981).  Numbers nearer than `RESOLUTION`,
relative to the largest of their kind, are equal: scales leave rounding.

Units that are left in one class and can be exchanged without changing the network give the same form in any
order.  Only where refinement cannot tell units apart that are not exchangeable (weights of few values in a
pattern as regular as that of a strongly regular graph) does the form depend on the order that was given.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symbayes.symmetry.group.element import spread
from symbayes.symmetry.group.frame import Frame, Place
from symbayes.symmetry.group.terms import Acting, parents_first, permuted

RESOLUTION = 1e-5


class Refinement:
    """The classes of all units of a network, and which signs are open."""

    def __init__(self, frame: Frame, ordered: bool):
        """All units of an index in one class or, if they are to stay in `ordered` places, each in its own."""
        self.frame, self.plan = frame, frame.plan
        indices = self.plan.group.indices
        shapes = {name: indices.shape([*over, name]) for name, over in self.plan.over.items()}
        self.colours = {
            name: np.broadcast_to(np.arange(shape[-1]) if ordered else np.array(0), shape).astype(np.int64)
            for name, shape in shapes.items()
        }
        self.open = {sign: np.ones(indices.shape(over), bool) for sign, over in self.plan.sign_over.items()}

    # ------------------------------------------------------------------ what is known of a term

    def unknown(self, number: int) -> list[np.ndarray]:
        """For each sign that acts on a term, in turn: on which entries it acts and is open."""
        term = self.plan.terms[number]
        found = [spread(self.open[a.name], a.places, len(term.names)) for a in term.signs]
        for k, one in enumerate(term.signs):
            for j, two in enumerate(term.signs[:k]):
                if one.name == two.name:
                    # A sign that acts twice on an entry leaves it as it is.
                    apart = np.zeros((1,) * len(term.names), bool)
                    for a, b in zip(one.places, two.places, strict=True):
                        apart = apart | (_counted(term.shape, a) != _counted(term.shape, b))
                    found[k], found[j] = found[k] & apart, found[j] & apart
        return found

    def values(self, number: int) -> np.ndarray:
        """The entries of a term; of those on which an open sign acts, the size."""
        array = self.frame.arrays[number]
        for mask in self.unknown(number):
            if mask.any():
                array = np.where(mask, np.abs(array), array)
        return array

    def evidence(self, number: int, acting: Acting) -> np.ndarray:
        """The entries of a term on which this sign is the only open one; zero elsewhere."""
        masks = self.unknown(number)
        here = masks[self.plan.terms[number].signs.index(acting)]
        count = sum((mask.astype(np.int8) for mask in masks), np.zeros((), np.int8))
        return np.where(here & (count == 1), self.frame.arrays[number], 0)

    def cells(self, number: int, units: Sequence[int]) -> np.ndarray:
        """For each entry of a term, the number of its class along all axes but those of the units."""
        term, plan = self.plan.terms[number], self.plan
        code = np.zeros((1,) * len(term.names), np.int64)
        for axis, name in enumerate(term.names):
            if axis in units:
                continue
            if name in plan.over:
                places = [*(term.names.index(other) for other in plan.over[name]), axis]
                colour = spread(self.colours[name], places, len(term.names))
            else:
                colour = _counted(term.shape, axis)
            code = code * (int(colour.max(initial=0)) + 1) + colour
            for other in units:
                if term.names[other] == name:
                    code = 2 * code + (_counted(term.shape, axis) == _counted(term.shape, other))
        return np.broadcast_to(code, term.shape)

    # ------------------------------------------------------------------ classes

    def sort(self, name: str, keys: np.ndarray) -> None:
        """Classes by one key of every unit, the largest first."""
        everyone = np.arange(self.colours[name].size)
        self.split(name, everyone, keys.reshape(-1, 1), RESOLUTION * float(np.max(np.abs(keys), initial=0)))

    def refine(self) -> bool:
        """Split classes by all weights; whether any was."""
        split = [self.refine_index(name) for name in parents_first(self.plan.over)]
        return any(split)

    def refine_index(self, name: str) -> bool:
        before = self.colours[name]
        names = [*self.plan.over[name], name]
        if not self.tied(name).size:
            return False
        for outer in self.plan.over[name]:
            tied = self.tied(name)
            keys = self.order_of(outer, names)[tied, None]
            self.split(name, tied, -keys.astype(np.float64), 0.0)
        for place in self.in_turn(name):
            tied = self.tied(name)
            if not tied.size:
                break
            axes = self.unit_axes(name, place)
            tolerance = RESOLUTION * float(np.max(np.abs(self.frame.arrays[place.term]), initial=0))
            cells = rows_of(self.cells(place.term, axes), axes)[tied]
            values = rows_of(self.values(place.term), axes)[tied]
            order = np.lexsort((-values, cells), axis=-1)
            cells, values = (np.take_along_axis(array, order, -1) for array in (cells, values))
            self.split(name, tied, -cells.astype(np.float64), 0.0)
            self.split(name, tied, values, tolerance)
        return bool(self.colours[name].max() > before.max())

    def in_turn(self, name: str) -> list[Place]:
        """The places of an index: incoming weights, outgoing weights, running statistics."""
        terms = self.plan.terms
        return sorted(
            self.plan.places[name], key=lambda p: (not terms[p.term].weighs, not terms[p.term].ends[p.axis])
        )

    def unit_axes(self, name: str, place: Place) -> list[int]:
        names = self.plan.terms[place.term].names
        return [*(names.index(other) for other in self.plan.over[name]), place.axis]

    def tied(self, name: str) -> np.ndarray:
        """The units, flattened, that share their class."""
        flat = self.colours[name].ravel()
        return np.flatnonzero(np.bincount(flat)[flat] > 1)

    def split(self, name: str, units: np.ndarray, columns: np.ndarray, tolerance: float) -> None:
        """Split classes by rows of numbers, the largest first, the first column before the second."""
        flat = self.colours[name].ravel()
        within = flat[units]
        for column in columns.T[_differing(within, columns, tolerance)]:
            within = _split(within, column, tolerance)
            if len(np.unique(within)) == len(within):
                break
        finer = np.zeros(flat.shape, np.int64)
        finer[units] = within
        ranks = np.unique(flat * (finer.max(initial=0) + 1) + finer, return_inverse=True)[1]
        self.colours[name] = ranks.reshape(self.colours[name].shape)

    def individualise(self) -> bool:
        """Put one unit of the first class of several before the others, with those that equal it entry by
        entry behind it; whether there was such a class.
        """
        for name in parents_first(self.plan.over):
            tied, flat = self.tied(name), self.colours[name].ravel()
            if not tied.size:
                continue
            members = np.flatnonzero(flat == flat[tied].min())
            equal = np.ones(len(members), bool)
            for place in self.plan.places[name]:
                rows = rows_of(self.frame.arrays[place.term], self.unit_axes(name, place))[members]
                tolerance = RESOLUTION * float(np.max(np.abs(self.frame.arrays[place.term]), initial=0))
                equal &= np.max(np.abs(rows - rows[0]), axis=-1, initial=0) <= tolerance
            if self.plan.dependants[name] or name in self.plan.quadratic:
                equal[1:] = False
            turns = np.where(equal, np.cumsum(equal), len(members) + 1)
            self.split(name, members, -turns[:, None].astype(np.float64), 0.0)
            return True
        return False

    def order_of(self, name: str, names: Sequence[str]) -> np.ndarray:
        """The class of one of some indices, for all their values, flattened."""
        shape = self.plan.group.indices.shape(names)
        if name in self.plan.over:
            places = [names.index(other) for other in (*self.plan.over[name], name)]
            return np.broadcast_to(spread(self.colours[name], places, len(names)), shape).ravel()
        return np.broadcast_to(_counted(shape, names.index(name)), shape).ravel()

    def order(self) -> None:
        """Move all units to their places."""
        plan, colours = self.plan, dict(self.colours)
        for name in parents_first(plan.over):
            rows = np.argsort(colours[name].reshape(-1, colours[name].shape[-1]), axis=-1, kind="stable")
            self.frame.move(name, rows)
            for other, over in plan.over.items():
                if name in (*over, other):
                    colours[other] = permuted(colours[other], (*over, other), name, rows, plan.group.indices)


def _counted(shape: Sequence[int], axis: int) -> np.ndarray:
    return spread(np.arange(shape[axis]), [axis], len(shape))


def rows_of(array: np.ndarray, units: Sequence[int]) -> np.ndarray:
    """An array as (units, all others)."""
    front = np.moveaxis(array, units, range(len(units)))
    return front.reshape(int(np.prod(front.shape[: len(units)], dtype=int)), -1)


def _differing(classes: np.ndarray, columns: np.ndarray, tolerance: float) -> np.ndarray:
    """The columns that differ within some class."""
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    ranges = np.maximum.reduceat(columns[order], starts) - np.minimum.reduceat(columns[order], starts)
    return np.flatnonzero(np.any(ranges > tolerance, axis=0))


def _split(classes: np.ndarray, column: np.ndarray, tolerance: float) -> np.ndarray:
    """Classes split wherever sorted numbers are further apart than the tolerance, the largest first."""
    order = np.lexsort((-column, classes))
    apart = (np.diff(classes[order]) != 0) | (-np.diff(column[order]) > tolerance)
    found = np.empty_like(classes)
    found[order] = np.concatenate([[0], np.cumsum(apart)])
    return found
