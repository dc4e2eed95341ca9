"""Effects of indices, the unknowns that stand for them, and the equations between them.

Write the log-scale of a value as a function of its indices, and expand that function into effects: a
constant, one function per index that vanishes at index 0, one per pair of indices that vanishes when either
is 0, and so on.  Every function has exactly one such expansion, over the reals as over GF(2).  The effects of
a parameter are the unknowns; equations only join effects of the same atoms S, and every solution for S stands
for ``prod_{a in S} (n_a - 1)`` dimensions of the group.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from symbayes.symmetry.discovery.nullspace import Vector, add, independent, nullspace
from symbayes.symmetry.program.axes import Atom, Term, Uniform, parts_of, places, resolve, size

Effect = frozenset[tuple[Any, Atom]]
"""The indices a function depends on: pairs of an axis and an atom of it."""
Cell = tuple[int, ...]
"""Which part of each axis (axes are sums), one number per axis."""
Forms = dict[Effect, Vector] | None
"""The effects of one cell, zero where missing; None is a constant that has every scale at once, such as 0."""
Subset = tuple[Atom, ...]


def alternatives(term: Term) -> list[Subset]:
    """The parts of an axis, each as its tuple of atoms."""
    return [tuple(atom for atom, _ in found) for _, found in places(term)]


@dataclass(frozen=True)
class Unknown:
    """One effect of one parameter in one cell."""

    path: str
    cell: Cell
    effect: Effect


class Ledger:
    """Unknowns and equations, over GF(2) for signs and over the rationals for scales."""

    def __init__(self, modulus: int | None):
        self.modulus = modulus
        self.unknowns: list[Unknown | None] = []
        self.subsets: list[Subset] = []
        self.equations: dict[Subset, list[Vector]] = defaultdict(list)

    def unknown(self, path: str | None, cell: Cell, effect: Effect) -> int:
        self.unknowns.append(None if path is None else Unknown(path, cell, effect))
        self.subsets.append(subset(effect))
        return len(self.unknowns) - 1

    def vanish(self, forms: Forms, only: Iterable[Effect] | None = None) -> None:
        for effect in (forms or {}) if only is None else only:
            if forms and forms.get(effect):
                self.equations[subset(effect)].append(forms[effect])

    def equate(self, a: Forms, b: Forms) -> None:
        if a is None or b is None:
            return
        for effect in a.keys() | b.keys():
            row = add(a.get(effect, {}), b.get(effect, {}), -1, self.modulus)
            if row:
                self.equations[subset(effect)].append(row)

    def merge(self, many: Sequence[Forms]) -> Forms:
        """What all agree on."""
        known = [forms for forms in many if forms is not None]
        for forms in known[1:]:
            self.equate(known[0], forms)
        return known[0] if known else None

    def without(self, forms: Forms, keys: set) -> Forms:
        """The forms after an operation that mixes entries along these axes: no effect may remain there."""
        if forms is None or not keys:
            return forms
        mixed = [effect for effect in forms if any(key in keys for key, _ in effect)]
        self.vanish(forms, mixed)
        return {effect: form for effect, form in forms.items() if effect not in mixed}

    def solutions(self) -> dict[Subset, list[Vector]]:
        """For every set of atoms a basis of the solutions, in terms of the unknowns of the parameters."""
        members: dict[Subset, list[int]] = defaultdict(list)
        for index, key in enumerate(self.subsets):
            members[key].append(index)
        found = {}
        for key, indices in members.items():
            vectors = nullspace(self.equations.get(key, []), indices, self.modulus)
            named = [{i: c for i, c in v.items() if self.unknowns[i] is not None} for v in vectors]
            found[key] = independent(named, self.modulus)
        return found


def subset(effect: Effect) -> Subset:
    return tuple(sorted((atom for _, atom in effect), key=lambda atom: atom.serial))


def effects_of(indices: list[tuple[Any, Atom]]) -> Iterable[Effect]:
    """All sets of indices in which no atom occurs twice."""
    for n in range(len(indices) + 1):
        for pick in itertools.combinations(indices, n):
            if len({atom for _, atom in pick}) == n:
                yield frozenset(pick)


def part_offset(term: Term, start: int, piece: Term) -> int | None:
    """The number of parts before a slice, or None where the slice does not follow the parts."""
    term, piece = resolve(term), resolve(piece)
    if isinstance(term, Uniform):
        return 0
    offset = position = 0
    found = alternatives(piece)
    for part in parts_of(term):
        if position == start:
            break
        position += size(part)
        offset += len(alternatives(part))
    if position != start or alternatives(term)[offset : offset + len(found)] != found:
        return None
    return offset
