"""Sparse elimination over the rationals or over GF(2): equations are dictionaries from unknown to
coefficient.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

Number = int | Fraction
"""Whole where possible: fractions are slow."""
Vector = dict[int, Number]


def ratio(a: Number, b: Number) -> Number:
    """``a / b``, exactly."""
    found = Fraction(a, b)
    return found.numerator if found.denominator == 1 else found


def add(a: Vector, b: Vector, factor: Number, modulus: int | None) -> Vector:
    """``a + factor b`` without zeros; modulo 2 where asked."""
    total = dict(a)
    for key, value in b.items():
        new = total.get(key, 0) + factor * value
        new = new % modulus if modulus else new
        if new:
            total[key] = new
        else:
            total.pop(key, None)
    return total


class Echelon:
    """Equations in reduced row echelon form, grown one at a time."""

    def __init__(self, modulus: int | None = None):
        self.modulus = modulus
        self.rows: dict[int, Vector] = {}

    def reduce(self, row: Vector) -> Vector:
        for pivot in [key for key in row if key in self.rows]:
            if pivot in row:
                row = add(row, self.rows[pivot], -row[pivot], self.modulus)
        return row

    def insert(self, row: Vector) -> bool:
        """Add an equation; whether it was independent of those before."""
        row = self.reduce(row)
        if not row:
            return False
        pivot = min(row)
        row = add({}, row, ratio(1, row[pivot]), self.modulus)
        for key, other in self.rows.items():
            if pivot in other:
                self.rows[key] = add(other, row, -other[pivot], self.modulus)
        self.rows[pivot] = row
        return True


def nullspace(rows: Iterable[Vector], unknowns: Sequence[int], modulus: int | None) -> list[Vector]:
    """A basis of the solutions of ``row . x = 0`` for all rows."""
    echelon = Echelon(modulus)
    for row in rows:
        echelon.insert(row)
    free = [key for key in unknowns if key not in echelon.rows]
    basis = []
    for key in free:
        vector: Vector = {key: 1}
        for pivot, row in echelon.rows.items():
            if key in row:
                vector[pivot] = -row[key] % modulus if modulus else -row[key]
        basis.append(vector)
    return basis


def independent(vectors: Iterable[Vector], modulus: int | None) -> list[Vector]:
    """A basis, in reduced form, of the span of the vectors."""
    echelon = Echelon(modulus)
    for vector in vectors:
        echelon.insert(vector)
    return [echelon.rows[pivot] for pivot in sorted(echelon.rows)]
