"""The cells of a value: an axis is a sum of parts, and a cell is one part of every axis, hidden axes of loops
included.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from symbayes.symmetry.discovery.effects import Cell, Subset, alternatives, part_offset
from symbayes.symmetry.program.axes import Atom, Term
from symbayes.symmetry.program.program import Reshape, Slice, Value


@dataclass(frozen=True)
class Usage:
    """The cells of a parameter that a program uses, and those that it leaves alone."""

    used: frozenset[Cell]
    idle: frozenset[Cell]


Usages = Mapping[str, Usage]
"""By path, for the parameters that are used in part."""


class Cells:
    """The cells of a program's values, and which cell of a result is made from which of its operands."""

    def __init__(self) -> None:
        self.layouts: dict[int, dict[Hashable, list[Subset]]] = {}

    def layout(self, value: Value) -> dict[Hashable, list[Subset]]:
        """The parts of every axis, hidden ones included."""
        if id(value) not in self.layouts:
            axes: list[tuple[Hashable, Term]] = [*enumerate(value.axes)]
            axes += [(loop, loop.axis) for loop in value.loops]
            self.layouts[id(value)] = {key: alternatives(term) for key, term in axes}
        return self.layouts[id(value)]

    def cells(self, value: Value) -> Iterable[Cell]:
        return itertools.product(*(range(len(parts)) for parts in self.layout(value).values()))

    def atoms(self, value: Value, cell: Cell) -> set[Atom]:
        """The atoms whose indices run within a cell."""
        parts = zip(self.layout(value).values(), cell, strict=True)
        return {atom for found, choice in parts for atom in found[choice]}

    def project(self, out: Value, cell: Cell, value: Value, changed: dict) -> Cell:
        """The cell of an operand that a cell of the result was made from."""
        choice = dict(zip(self.layout(out), cell, strict=True)) | changed
        return tuple(choice.get(key, 0) if len(parts) > 1 else 0 for key, parts in self.layout(value).items())

    def block(
        self, step: Reshape, ins: tuple, terms: tuple, outs: tuple
    ) -> list[tuple[dict, dict, dict, set]]:
        """How the cells of a group of axes correspond: for each pair (choices in, choices out, places, axes
        lost).
        """
        layout, out_layout = self.layout(step.source), self.layout(step.out)
        before = list(itertools.product(*(enumerate(alternatives(term)) for term in terms)))
        after = list(itertools.product(*(enumerate(out_layout[k]) for k in outs)))
        same = [join(pick) for pick in before] == [join(pick) for pick in after]
        if not same:
            before = list(itertools.product(*(enumerate(layout[k]) for k in ins)))
        pairs = zip(before, after, strict=True) if same else itertools.product(before, after)
        found = []
        for pick, out_pick in pairs:
            source_choice = {k: n if len(layout[k]) > 1 else 0 for k, (n, _) in zip(ins, pick, strict=True)}
            out_choice = {k: n for k, (n, _) in zip(outs, out_pick, strict=True)}
            flat = join(pick)
            places = {}
            if same:
                spots = iter(
                    [k for k, (_, found_atoms) in zip(outs, out_pick, strict=True) for _ in found_atoms]
                )
                for k, (_, found_atoms) in zip(ins, pick, strict=True):
                    places |= {(k, atom): next(spots) for atom in found_atoms}
            repeated = same and len(set(flat)) < len(flat)
            found.append((source_choice, out_choice, places, set() if same and not repeated else set(ins)))
        return found

    def sliced(self, step: Slice) -> tuple[dict[int, int], set[int]]:
        """How many parts lie before a slice, by axis, and the axes on which it does not follow the parts."""
        found = {
            k: part_offset(step.source.axes[k], start, step.out.axes[k])
            for k, start in enumerate(step.starts)
        }
        return {k: n for k, n in found.items() if n is not None}, {k for k, n in found.items() if n is None}


def join(pick: Iterable[tuple[int, Subset]]) -> Subset:
    return tuple(atom for _, found in pick for atom in found)
