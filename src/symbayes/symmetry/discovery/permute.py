"""The first domain: which axes move together.

Running the program on axes instead of numbers unifies what the program aligns.  An atom that is left
unpinned may be permuted.  It may be permuted differently for every index of another atom (the dimensions
within each attention head, the channels within each group, the units of each stacked layer) where it never
occurs without that other: then the group is a wreath product.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from symbayes.symmetry.program.axes import (
    Atom,
    Product,
    Sum,
    Term,
    Uniform,
    atoms,
    cut,
    factors_of,
    fresh,
    pin,
    resolve,
    size,
    split,
    unify,
    varying,
)
from symbayes.symmetry.program.program import (
    Carry,
    Concat,
    Label,
    Link,
    Program,
    Reshape,
    Slice,
    Value,
    blocks,
)


def align(program: Program) -> None:
    """Give every value of the program its axes."""
    for value in program.parameters.values():
        value.axes = [fresh(n) for n in value.shape]
    for step in program.steps:
        for value in step.ins:
            if value.data and not value.axes:
                value.axes = _given(value)
        match step:
            case Link():
                _link(step)
            case Reshape():
                _reshape(step)
            case Concat():
                _concat(step)
            case Slice():
                _slice(step)
            case Carry():
                _carry(step)
    for value in program.outputs:
        for term in value.axes:
            pin(term, "an axis of the output")


def _given(value: Value) -> list[Term]:
    """The axes of an input (pinned) or of a constant (pinned where it varies)."""
    if value.constant is None:
        return [fresh(n, "an axis of the input") for n in value.shape]
    array = value.constant
    terms: list[Term] = []
    for axis, n in enumerate(array.shape):
        first = np.take(array, [0], axis) if n else array
        same = np.equal(array, first) | (np.not_equal(array, array) & np.not_equal(first, first))
        terms.append(Uniform(n) if same.all() else Atom(n, "a constant varies along it"))
    return terms


def labelled(value: Value, labels: Iterable[Label | None]) -> list[tuple[Label, Term]]:
    """The axes of a value with their labels, those of its loops included."""
    pairs = [(label, term) for label, term in zip(labels, value.axes, strict=True) if label is not None]
    return pairs + [(loop, loop.axis) for loop in value.loops]


def _link(step: Link) -> None:
    found: dict[Label, Term] = {}
    for value, labels in zip(step.ins, step.in_labels, strict=True):
        for label, term in labelled(value, labels):
            known = found.get(label)
            if known is None or isinstance(known, Uniform):
                found[label] = resolve(term)
            else:
                unify(known, term)
    for loop in step.out.loops:
        if loop in step.in_labels[0] and loop in found:  # a scan takes this axis apart
            unify(loop.axis, found[loop])
    for label, reason in step.pins.items():
        if label in found:
            pin(found[label], reason)
    step.out.axes = [
        found.get(label) or (fresh(n, step.pins[label]) if label in step.pins else Uniform(n))
        for label, n in zip(step.out_labels, step.out.shape, strict=True)
    ]


def _reshape(step: Reshape) -> None:
    axes: list[Term | None] = [None] * len(step.out.shape)
    step.blocks = []
    for ins, outs in blocks(step.source.shape, step.out.shape):
        terms = [resolve(step.source.axes[k]) for k in ins]
        sizes = [step.out.shape[k] for k in outs]
        if all(isinstance(term, Uniform) for term in terms):
            results: list[Term] = [Uniform(n) for n in sizes]
        else:
            terms = [varying(term) for term in terms]
            results = _regroup(terms, sizes)
        for k, term in zip(outs, results, strict=True):
            axes[k] = term
        step.blocks.append((ins, tuple(terms), outs))
    step.out.axes = [Uniform(1) if term is None else term for term in axes]


def _regroup(terms: list[Term], sizes: list[int]) -> list[Term]:
    """The row-major product of the terms as axes of the given sizes; pinned where they do not fit."""
    queue = list(terms)
    results: list[Term] = []
    for n in sizes:
        taken: list[Term] = []
        while n > 1:
            term = resolve(queue.pop(0))
            if isinstance(term, Product):
                queue = [*factors_of(term), *queue]
            elif n % size(term) == 0:
                taken.append(term)
                n //= size(term)
            else:
                pieces = split(term, n) if size(term) > n else None
                if pieces is None:
                    return _given_up(terms, sizes)
                taken.append(pieces[0])
                queue.insert(0, pieces[1])
                n = 1
        results.append(resolve(Product(tuple(taken))))
    return results


def _given_up(terms: list[Term], sizes: list[int]) -> list[Term]:
    reason = "a reshape that does not respect the axes"
    for term in terms:
        pin(term, reason)
    return [fresh(n, reason) for n in sizes]


def _concat(step: Concat) -> None:
    step.terms = tuple(varying(value.axes[step.axis]) for value in step.ins)
    step.out.axes = []
    for k in range(len(step.out.shape)):
        if k == step.axis:
            step.out.axes.append(resolve(Sum(step.terms)))
            continue
        kinds = [value.axes[k] for value in step.ins]
        kept = next((term for term in kinds if not isinstance(resolve(term), Uniform)), kinds[0])
        for term in kinds:
            unify(kept, term)
        step.out.axes.append(kept)


def _slice(step: Slice) -> None:
    step.out.axes = [
        _piece(term, start, n)
        for term, start, n in zip(step.source.axes, step.starts, step.out.shape, strict=True)
    ]


def _piece(term: Term, start: int, n: int) -> Term:
    term = resolve(term)
    if isinstance(term, Uniform):
        return Uniform(n)
    if start:
        pieces = cut(term, start)
        if pieces is None:
            return _lost(term, n)
        term = pieces[1]
    if size(term) > n:
        pieces = cut(term, n)
        if pieces is None:
            return _lost(term, n)
        term = pieces[0]
    return term


def _lost(term: Term, n: int) -> Term:
    reason = "a flattened axis is cut within"
    pin(term, reason)
    return fresh(n, reason)


def _carry(step: Carry) -> None:
    if not step.out.axes:
        step.out.axes = [fresh(n) for n in step.out.shape]
    for target, term in zip(step.out.axes, step.source.axes, strict=True):
        unify(target, term)


def dependencies(program: Program) -> dict[Atom, list[Atom]]:
    """For every atom the atoms without which it never occurs, outermost first."""
    company: dict[Atom, set[Atom]] = {}
    values = {id(v): v for step in program.steps for v in (*step.ins, step.out) if v.constant is None}
    for value in values.values():
        axes = [resolve(term) for term in (*value.axes, *(loop.axis for loop in value.loops))]
        outer = [[f for f in factors_of(term) if isinstance(f, Atom)] for term in axes]
        for k, term in enumerate(axes):
            others = [atom for j, found in enumerate(outer) if j != k for atom in found]
            for atom, around in _occurrences(term, others):
                once = {other for other in around if around.count(other) == 1 and other is not atom}
                company[atom] = company[atom] & once if atom in company else once
    order = _first_seen(program)
    for atom in sorted(company, key=lambda a: order.get(a, len(order))):
        for other in company[atom]:
            if atom in company.get(other, ()) and order.get(other, 0) > order.get(atom, 0):
                company[atom] = company[atom] - {other}
    return {
        atom: sorted(around, key=lambda a: (len(company.get(a, ())), order.get(a, 0)))
        for atom, around in company.items()
    }


def _occurrences(term: Term, around: list[Atom]) -> list[tuple[Atom, list[Atom]]]:
    """The atoms of an axis, each with the atoms whose index is known wherever it occurs."""
    match term:
        case Atom():
            return [(term, around)]
        case Sum(parts):
            return [pair for part in parts for pair in _occurrences(part, around)]
        case Product(factors):
            found = []
            for k, factor in enumerate(factors):
                siblings = [f for j, f in enumerate(factors) if j != k and isinstance(f, Atom)]
                found += _occurrences(factor, around + siblings)
            return found
        case _:
            return []


def _first_seen(program: Program) -> dict[Atom, int]:
    order: dict[Atom, int] = {}
    for value in program.parameters.values():
        for term in value.axes:
            for atom in atoms(term):
                order.setdefault(atom, len(order))
    return order
