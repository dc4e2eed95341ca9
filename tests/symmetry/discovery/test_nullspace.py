"""Sparse elimination against dense ranks."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbayes.symmetry.discovery.nullspace import independent, nullspace

matrices = st.integers(1, 6).flatmap(
    lambda columns: st.lists(st.lists(st.integers(-2, 2), min_size=columns, max_size=columns), max_size=7)
)


def rank(matrix: np.ndarray, modulus: int | None) -> int:
    if modulus is None:
        return int(np.linalg.matrix_rank(matrix)) if matrix.size else 0
    matrix, found = matrix % 2, 0
    for column in range(matrix.shape[1]):
        rows = [r for r in range(found, len(matrix)) if matrix[r, column]]
        if rows:
            matrix[[found, rows[0]]] = matrix[[rows[0], found]]
            for r in range(len(matrix)):
                if r != found and matrix[r, column]:
                    matrix[r] ^= matrix[found]
            found += 1
    return found


def sparse(rows, modulus):
    values = [{j: Fraction(v % modulus if modulus else v) for j, v in enumerate(row)} for row in rows]
    return [{j: v for j, v in row.items() if v} for row in values]


@pytest.mark.parametrize("modulus", [None, 2])
@given(rows=matrices)
def test_solutions_solve_and_are_as_many_as_there_should_be(modulus, rows):
    columns = len(rows[0]) if rows else 3
    basis = nullspace(sparse(rows, modulus), range(columns), modulus)
    for vector in basis:
        for row in sparse(rows, modulus):
            total = sum(row.get(j, 0) * c for j, c in vector.items())
            assert (total % modulus if modulus else total) == 0
    dense = np.array(rows, dtype=int).reshape(len(rows), columns)
    assert len(basis) == columns - rank(dense, modulus)
    assert len(independent(basis, modulus)) == len(basis)
