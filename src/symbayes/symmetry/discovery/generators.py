"""From the solutions of the diagonal domain to generators of the group.

A generator is a free function on the indices of a set of atoms S, with an exponent for every place where it
acts.  Whatever solves the equations for S solves them for every subset of S with the indices left out, so
the functions of a generator are arbitrary, and a smaller set needs a generator of its own only for what the
larger ones do not give.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from symbayes.symmetry.discovery.diagonal import Diagonal
from symbayes.symmetry.discovery.effects import Subset, Unknown
from symbayes.symmetry.discovery.nullspace import Echelon, Number, Vector, add, ratio

LARGEST_MULTIPLE = 60


@dataclass(frozen=True)
class Generator:
    """A function on the indices of `atoms`, acting with these exponents."""

    kind: str
    atoms: Subset
    exponents: dict[Unknown, Number]


def generators(domain: Diagonal) -> list[Generator]:
    """The generators, largest index sets first."""
    number = {unknown: i for i, unknown in enumerate(domain.unknowns) if unknown is not None}
    solutions = domain.solutions()
    found: list[Generator] = []
    for key in sorted(solutions, key=lambda s: (-len(s), [atom.serial for atom in s])):
        echelon = Echelon(domain.modulus)
        for generator in found:
            if set(key) < set(generator.atoms):
                echelon.insert(_restricted(generator, key, number))
        for vector in sparser(solutions[key], domain.modulus):
            if echelon.insert(vector):
                named = {domain.unknowns[i]: c for i, c in _whole(vector).items()}
                exponents = {unknown: c for unknown, c in named.items() if unknown is not None}
                found.append(Generator(domain.kind, key, exponents))
    return found


def dimension(found: Sequence[Generator]) -> int:
    """The number of independent log-scales, or of independent signs, that the generators give."""
    keys = {key for g in found for n in range(len(g.atoms) + 1) for key in itertools.combinations(g.atoms, n)}
    total = 0
    number: dict[Unknown, int] = {}
    for key in keys:
        echelon = Echelon(2 if found[0].kind == "sign" else None)
        rank = sum(echelon.insert(_restricted(g, key, number)) for g in found if set(key) <= set(g.atoms))
        total += rank * math.prod(atom.size - 1 for atom in key)
    return total


def _restricted(generator: Generator, key: Subset, number: dict[Unknown, int]) -> Vector:
    """The exponents with which a function that depends on the indices of `key` alone acts."""
    modulus = 2 if generator.kind == "sign" else None
    vector: Vector = {}
    for unknown, exponent in generator.exponents.items():
        effect = frozenset(pair for pair in unknown.effect if pair[1] in key)
        place = number.setdefault(Unknown(unknown.path, unknown.cell, effect), len(number))
        vector = add(vector, {place: exponent}, 1, modulus)
    return vector


def _whole(vector: Vector) -> Vector:
    """The smallest whole multiple, so that exponents read 1, -1, 2; where it is large, the vector itself.

    The power 0.7 in float32 has the denominator 2^24, and the multiple would overflow.
    """
    scale = math.lcm(*(c.denominator for c in vector.values()))
    if scale > LARGEST_MULTIPLE:
        return vector
    return {i: c * scale for i, c in vector.items()}


def sparser(vectors: list[Vector], modulus: int | None) -> list[Vector]:
    """Another basis of the same space whose vectors, as far as pairs can tell, touch fewer unknowns."""
    vectors = list(vectors)
    improved = True
    while improved:
        improved = False
        for i, j in itertools.permutations(range(len(vectors)), 2):
            for key in vectors[i].keys() & vectors[j].keys():
                shorter = add(vectors[i], vectors[j], -ratio(vectors[i][key], vectors[j][key]), modulus)
                if len(shorter) < len(vectors[i]):
                    vectors[i], improved = shorter, True
                    break
    return [{i: ratio(c, vector[min(vector)]) for i, c in vector.items()} for vector in vectors]


def beyond(known: Sequence[Generator], found: Sequence[Generator]) -> list[Generator]:
    """Those generators that the known ones do not give."""
    number: dict[Unknown, int] = {}
    new: list[Generator] = []
    for generator in found:
        echelon = Echelon(2 if generator.kind == "sign" else None)
        for other in (*known, *new):
            if set(generator.atoms) <= set(other.atoms):
                echelon.insert(_restricted(other, generator.atoms, number))
        if echelon.insert(_restricted(generator, generator.atoms, number)):
            new.append(generator)
    return new
