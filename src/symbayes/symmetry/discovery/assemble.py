"""From the domains' results to a `Symmetry`: names for indices, moves, entries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from symbayes.symmetry.discovery.effects import Cell, Effect, alternatives
from symbayes.symmetry.discovery.generators import Generator, dimension
from symbayes.symmetry.discovery.nullspace import Number
from symbayes.symmetry.group.element import Indices
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.members import Factor, Move, Permutation, Pinned
from symbayes.symmetry.group.sites import Entry, Part, Parts
from symbayes.symmetry.program.axes import Atom, Term, atoms, places
from symbayes.symmetry.program.program import Program


def name_indices(program: Program) -> dict[Atom, str]:
    """A name for every atom of a parameter: that of the first module with the atom on a last axis."""
    seen: dict[Atom, list[tuple[bool, str]]] = defaultdict(list)
    for path, value in program.parameters.items():
        for axis, term in enumerate(value.axes):
            last = axis == len(value.shape) - 1 and len(value.shape) > 1
            for atom in atoms(term):
                seen[atom].append((not last, module(path)))
    names: dict[Atom, str] = {}
    for atom, found in sorted(seen.items(), key=lambda item: item[0].pinned is not None):
        names[atom] = unique(min(found, key=lambda place: place[0])[1], set(names.values()))
    return names


def free_atoms(program: Program) -> list[Atom]:
    """The atoms that may be permuted, in the order of the group's permutations."""
    return [atom for atom in name_indices(program) if not atom.pinned]


def module(path: str) -> str:
    """The path without the collection and the parameter's own name, where anything is left."""
    parts = path.split("/")
    if parts[0] in ("params", "stats") and len(parts) > 1:
        parts = parts[1:]
    return "/".join(parts[:-1] or parts)


def unique(name: str, taken: set[str]) -> str:
    candidate, n = name, 2
    while candidate in taken:
        candidate, n = f"{name}#{n}", n + 1
    return candidate


def assemble(
    program: Program,
    over: dict[Atom, list[Atom]],
    signs: Sequence[Generator],
    scales: Sequence[Generator],
) -> Symmetry:
    """The group of a program whose axes are aligned and whose generators are known."""
    names = name_indices(program)
    free = free_atoms(program)
    indices = Indices(
        {name: atom.size for atom, name in names.items()},
        {names[atom]: tuple(names[other] for other in over.get(atom, ())) for atom in free},
    )
    entries: dict[str, list[Entry]] = defaultdict(list)
    factors = {"sign": [], "scale": []}
    for generator in (*signs, *scales):
        taken = {factor.name for factor in factors[generator.kind]}
        label = unique(_label(generator, names), taken)
        found = _entries(program, generator, label, names)
        for path, entry in found:
            entries[path].append(entry)
        factors[generator.kind].append(_factor(generator, label, names, found))
    return Symmetry(
        shapes={path: value.shape for path, value in program.parameters.items()},
        axes={path: _parts(value.axes, names) for path, value in program.parameters.items()},
        indices=indices,
        permutations=tuple(_permutation(program, atom, names, indices) for atom in free),
        signs=tuple(factors["sign"]),
        scales=tuple(factors["scale"]),
        entries={path: tuple(found) for path, found in entries.items()},
        sign_bits=dimension(signs),
        scale_dimension=dimension(scales),
        pinned=tuple(_pinned(program)),
    )


def _parts(axes: Sequence[Term], names: dict[Atom, str]) -> tuple[Parts, ...]:
    return tuple(
        tuple(
            Part(offset, tuple(names[atom] for atom, _ in found), tuple(stride for _, stride in found))
            for offset, found in places(term)
        )
        for term in axes
    )


def _permutation(program: Program, atom: Atom, names: dict[Atom, str], indices: Indices) -> Permutation:
    moves = [
        Move(path, (axis,))
        for path, value in program.parameters.items()
        for axis, term in enumerate(value.axes)
        if atom in atoms(term)
    ]
    name = names[atom]
    rows = indices.count(indices.over[name])
    return Permutation(name, atom.size, indices.over[name], rows, tuple(moves))


def _pinned(program: Program) -> list[Pinned]:
    found = []
    for path, value in program.parameters.items():
        for axis, term in enumerate(value.axes):
            for atom in dict.fromkeys(atoms(term)):
                if atom.pinned:
                    found.append(Pinned(path, axis, atom.size, atom.pinned))
    return found


def _label(generator: Generator, names: dict[Atom, str]) -> str:
    if generator.atoms:
        return names[generator.atoms[-1]]
    return module(min(unknown.path for unknown in generator.exponents))


def _factor(
    generator: Generator, label: str, names: dict[Atom, str], found: list[tuple[str, Entry]]
) -> Factor:
    moves = {}
    for path, entry in found:
        axes = tuple(sorted({axis for axis, _ in entry.places} or entry.axes))
        moves[Move(path, axes, entry.exponent)] = None
    size = math.prod(atom.size for atom in generator.atoms)
    over = tuple(names[atom] for atom in generator.atoms)
    return Factor(generator.kind, label, over, size, tuple(moves))


def _entries(
    program: Program, generator: Generator, label: str, names: dict[Atom, str]
) -> list[tuple[str, Entry]]:
    """Where a generator acts; parts of an axis are named only where they differ."""
    groups: dict[tuple[str, Effect], dict[Cell, Number]] = defaultdict(dict)
    for unknown, exponent in generator.exponents.items():
        groups[unknown.path, unknown.effect][unknown.cell] = exponent
    found = []
    for path in program.parameters:
        for (where, effect), cells in groups.items():
            if where != path:
                continue
            axis_of = {atom: axis for axis, atom in effect}
            places = tuple((axis_of[atom], names[atom]) for atom in generator.atoms)
            counts = [len(alternatives(term)) for term in program.parameters[path].axes]
            for parts, exponent in _needed_parts(cells, counts, set(axis_of.values())).items():
                found.append((path, Entry(generator.kind, label, parts, places, float(exponent))))
    return found


def _needed_parts(cells: dict[Cell, Number], counts: list[int], keep: set) -> dict[tuple, Number]:
    current = {
        tuple((axis, part) for axis, part in enumerate(cell) if counts[axis] > 1): exponent
        for cell, exponent in cells.items()
    }
    for axis in range(len(counts)):
        if counts[axis] == 1 or axis in keep:
            continue
        grouped: dict[tuple, list[Number]] = defaultdict(list)
        for parts, exponent in current.items():
            grouped[tuple(pair for pair in parts if pair[0] != axis)].append(exponent)
        if all(len(found) == counts[axis] and len(set(found)) == 1 for found in grouped.values()):
            current = {parts: found[0] for parts, found in grouped.items()}
    return current
