"""Unification of axes."""

import pytest

from symbayes.symmetry.program.axes import (
    Atom,
    Product,
    Sum,
    Uniform,
    atoms,
    cut,
    pin,
    resolve,
    size,
    split,
    unify,
)


def test_a_flattened_axis_becomes_a_product():
    kernel, positions, channels = Atom(12), Atom(4, "input"), Atom(3)
    unify(kernel, Product((positions, channels)))
    assert atoms(kernel) == [positions, channels]


def test_products_are_refined_to_match():
    a, b, c, d = Atom(4), Atom(6), Atom(2), Atom(12)
    unify(Product((a, b)), Product((c, d)))
    assert [atom.size for atom in atoms(a)] == [2, 2]
    assert atoms(d) == atoms(a)[1:] + atoms(b)


def test_products_that_do_not_match_are_pinned():
    a, b, c, d = Atom(4), Atom(6), Atom(6), Atom(4)
    unify(Product((a, b)), Product((c, d)))
    assert all(atom.pinned for term in (a, b, c, d) for atom in atoms(term))


def test_sums_are_cut_to_match():
    a, b, c, d = Atom(3), Atom(5), Atom(4), Atom(4)
    unify(Sum((a, b)), Sum((c, d)))
    assert [atom.size for atom in atoms(Sum((a, b)))] == [3, 4]
    assert atoms(c) == atoms(a)  # the one index between the cuts has nothing to permute
    assert resolve(d) is atoms(b)[0]


def test_halves_of_a_fused_axis_may_be_one_atom():
    """Gate and value of a gated unit: two parts, one order."""
    fused = Atom(10)
    halves = cut(fused, 5)
    assert halves is not None
    unify(*halves)
    assert len(set(atoms(fused))) == 1
    assert len(atoms(fused)) == 2


def test_pins_follow_bindings():
    a, b = Atom(6), Atom(6)
    pin(a, "first")
    unify(b, a)
    pin(b, "second")
    assert resolve(a) is resolve(b)
    (atom,) = atoms(b)
    assert atom.pinned == "first"


def test_uniform_axes_agree_with_everything():
    a, b, constant = Atom(4), Atom(4), Uniform(4)
    unify(a, constant)
    unify(b, constant)
    assert resolve(a) is not resolve(b)


def test_splitting_and_cutting_across_is_refused_and_pins():
    term = Product((Atom(2), Atom(3)))
    assert cut(term, 2) is None
    assert all(atom.pinned for atom in atoms(term))
    assert split(Atom(6), 4) is None


def test_sizes_must_agree():
    with pytest.raises(AssertionError, match="sizes 3 and 4"):
        unify(Atom(3), Atom(4))
    assert size(Sum((Product((Atom(2), Atom(3))), Uniform(1)))) == 7
