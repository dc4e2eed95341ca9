"""What an axis of an array is made of: ``Atom | Product | Sum | Uniform``, and their unification.

An atom is a set of indices about which nothing is known but its size.  A flattened axis is a product
(row-major), a concatenated one a sum, and an axis along which the array does not vary is uniform: it
agrees with everything.  Two axes that a program aligns are unified as in first-order logic: an atom
is bound to what it turns out to be, products and sums are refined until they match, and what cannot
be matched is pinned, so that the only permutation left on it is the identity.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

_serial = itertools.count()


class Atom:
    """A set of indices; `term` is what it was found to be, `pinned` why it may not be permuted."""

    __slots__ = ("pinned", "serial", "size", "term")

    def __init__(self, size: int, pinned: str | None = None):
        self.size = size
        self.pinned = pinned
        self.term: Term | None = None
        self.serial = next(_serial)


@dataclass(frozen=True, eq=False)
class Product:
    """Row-major pairs of indices, as in a flattened axis."""

    factors: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Sum:
    """One set of indices after the other, as in a concatenated axis."""

    parts: tuple[Term, ...]


@dataclass(frozen=True)
class Uniform:
    """An axis along which the array is constant."""

    size: int


Term = Atom | Product | Sum | Uniform


def fresh(size: int, pinned: str | None = None) -> Term:
    """A new atom; an axis of size one has nothing to permute."""
    return Uniform(1) if size == 1 else Atom(size, pinned)


def size(term: Term) -> int:
    match term:
        case Atom() | Uniform():
            return term.size
        case Product():
            return math.prod(map(size, term.factors))
        case Sum():
            return sum(map(size, term.parts))


def resolve(term: Term) -> Term:
    """The term with every bound atom replaced, products and sums flat, and a leading sum pulled out."""
    match term:
        case Atom():
            if term.term is None:
                return term
            term.term = resolve(term.term)
            return term.term
        case Uniform():
            return term
        case Sum():
            return _sum([resolve(part) for part in term.parts])
        case Product():
            return _product([resolve(factor) for factor in term.factors])


def _sum(parts: list[Term]) -> Term:
    flat = [p for part in parts for p in (part.parts if isinstance(part, Sum) else (part,)) if size(p)]
    return flat[0] if len(flat) == 1 else Sum(tuple(flat))


def _product(factors: list[Term]) -> Term:
    flat = [f for factor in factors for f in factors_of(factor)]
    if not flat:
        return Uniform(1)
    if len(flat) == 1:
        return flat[0]
    if isinstance(flat[0], Sum):  # (a + b) x c = (a x c) + (b x c), contiguous in row-major order
        return _sum([_product([part, *flat[1:]]) for part in flat[0].parts])
    return Product(tuple(flat))


def factors_of(term: Term) -> tuple[Term, ...]:
    """The factors of a resolved term, without those of size one."""
    if isinstance(term, Product):
        return term.factors
    return () if size(term) == 1 else (term,)


def parts_of(term: Term) -> tuple[Term, ...]:
    """The parts of a resolved term."""
    return term.parts if isinstance(term, Sum) else (term,)


def atoms(term: Term) -> list[Atom]:
    """The unbound atoms of a term, in order, with repetition."""
    match resolve(term):
        case Atom() as atom:
            return [atom]
        case Product(factors):
            return [atom for factor in factors for atom in atoms(factor)]
        case Sum(parts):
            return [atom for part in parts for atom in atoms(part)]
        case _:
            return []


Place = tuple[int, tuple[tuple[Atom, int], ...]]
"""Where a part of an axis lies: an offset, and its atoms with their strides."""


def places(term: Term) -> list[Place]:
    """The parts of an axis: every choice of one part of each sum in it, in row-major order of the choices."""
    match resolve(term):
        case Atom() as atom:
            return [(0, ((atom, 1),))]
        case Product(factors):
            found: list[Place] = [(0, ())]
            for factor in factors:
                n = size(factor)
                found = [
                    (offset * n + start, (*((a, stride * n) for a, stride in before), *after))
                    for offset, before in found
                    for start, after in places(factor)
                ]
            return found
        case Sum(parts):
            found, start = [], 0
            for part in parts:
                found += [(start + offset, inside) for offset, inside in places(part)]
                start += size(part)
            return found
        case _:
            return [(0, ())]


def pin(term: Term, reason: str) -> None:
    """Allow no permutation of any atom in the term; the first reason given is kept."""
    for atom in atoms(term):
        atom.pinned = atom.pinned or reason


def varying(term: Term) -> Term:
    """The term, with a new atom in the place of a uniform axis."""
    term = resolve(term)
    return fresh(term.size) if isinstance(term, Uniform) else term


def unify(a: Term, b: Term) -> None:
    """Make two axes of one size the same."""
    a, b = resolve(a), resolve(b)
    if size(a) != size(b):
        raise AssertionError(f"axes of sizes {size(a)} and {size(b)} cannot be aligned")
    if a is b or isinstance(a, Uniform) or isinstance(b, Uniform):
        return
    if isinstance(a, Atom):
        _bind(a, b)
    elif isinstance(b, Atom):
        _bind(b, a)
    elif isinstance(a, Product) and isinstance(b, Product):
        _align(list(a.factors), list(b.factors), split, (a, b))
    else:
        _align(list(parts_of(a)), list(parts_of(b)), cut, (a, b))


def _bind(atom: Atom, term: Term) -> None:
    if isinstance(term, Atom) and term.serial > atom.serial:
        atom, term = term, atom
    if atom.pinned:
        pin(term, atom.pinned)
    atom.term = term


def _align(left: list[Term], right: list[Term], divide, whole: tuple[Term, Term]) -> None:
    """Unify two lists of factors (or parts) after dividing the longer of each pair to the shorter's size."""
    while left and right:
        a, b = resolve(left.pop(0)), resolve(right.pop(0))
        if size(a) != size(b):
            longer, rest = (a, left) if size(a) > size(b) else (b, right)
            pieces = divide(longer, min(size(a), size(b)))
            if pieces is None:
                for term in whole:
                    pin(term, "two ways of dividing an axis do not match")
                return
            rest.insert(0, pieces[1])
            a, b = (pieces[0], b) if longer is a else (a, pieces[0])
        unify(a, b)


def split(term: Term, lead: int) -> tuple[Term, Term] | None:
    """The term as a product whose first factor has size `lead`; None (and pinned) where there is none."""
    term = resolve(term)
    rest, remainder = divmod(size(term), lead)
    if remainder:
        pin(term, "an axis is divided unevenly")
        return None
    if lead == 1 or rest == 1:
        return (Uniform(1), term) if lead == 1 else (term, Uniform(1))
    match term:
        case Uniform():
            return Uniform(lead), Uniform(rest)
        case Atom():
            pair = Atom(lead, term.pinned), Atom(rest, term.pinned)
            term.term = Product(pair)
            return pair
        case Product(factors):
            return _split_product(list(factors), lead, term)
        case Sum(parts):
            return _split_sum(parts, lead, rest, term)


def _split_product(factors: list[Term], lead: int, whole: Term) -> tuple[Term, Term] | None:
    taken: list[Term] = []
    while lead > 1:
        factor = factors.pop(0)
        if lead % size(factor) == 0:
            taken.append(factor)
            lead //= size(factor)
        else:
            pieces = split(factor, lead)
            if pieces is None:
                pin(whole, "an axis is divided unevenly")
                return None
            taken.append(pieces[0])
            factors.insert(0, pieces[1])
            lead = 1
    return _product(taken), _product(factors)


def _split_sum(parts: tuple[Term, ...], lead: int, rest: int, whole: Term) -> tuple[Term, Term] | None:
    """Parts that all are so many times `rest` share what is within; their order is pinned."""
    reason = "a concatenated axis is divided again"
    if any(size(part) % rest for part in parts):
        pin(whole, reason)
        return None
    inner = Atom(rest)
    for part in parts:
        pieces = split(part, size(part) // rest)
        if pieces is None:
            pin(whole, reason)
            return None
        pin(pieces[0], reason)
        unify(inner, pieces[1])
    return Atom(lead, reason), inner


def cut(term: Term, at: int) -> tuple[Term, Term] | None:
    """The term as a sum whose first part has size `at`; None (and pinned) where there is none."""
    term = resolve(term)
    rest = size(term) - at
    match term:
        case Uniform():
            return Uniform(at), Uniform(rest)
        case Atom():
            pair = fresh(at, term.pinned), fresh(rest, term.pinned)
            term.term = Sum(pair)
            return pair
        case Sum(parts):
            return _cut_sum(list(parts), at)
        case Product(factors):
            inner = math.prod(map(size, factors[1:]))
            pieces = cut(factors[0], at // inner) if at % inner == 0 else None
            if pieces is None:
                pin(term, "a flattened axis is cut within")
                return None
            return _product([pieces[0], *factors[1:]]), _product([pieces[1], *factors[1:]])


def _cut_sum(parts: list[Term], at: int) -> tuple[Term, Term] | None:
    taken: list[Term] = []
    while at:
        part = parts.pop(0)
        if size(part) > at:
            pieces = cut(part, at)
            if pieces is None:
                return None
            part = pieces[0]
            parts.insert(0, pieces[1])
        taken.append(part)
        at -= size(part)
    return _sum(taken), _sum(parts)
