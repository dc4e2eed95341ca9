"""Activations of a program as arrays with named axes, which an element of the group moves like parameters.

The analysis that finds the group labels the axes of every value of the program.  Of these values the ones
that a contraction reads are observed: what a layer hands to the next, queries and keys, the pooled features.
How signs act on them is found out afterwards.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import JaxprEqn, Literal

from symbayes import trees
from symbayes.symmetry.discovery import permute
from symbayes.symmetry.group.element import Indices
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.sites import Part, Parts
from symbayes.symmetry.program import pointwise
from symbayes.symmetry.program.axes import Atom, Term, Uniform, atoms, places, resolve
from symbayes.symmetry.program.evaluation import Evaluation
from symbayes.symmetry.program.laws import PRODUCT
from symbayes.symmetry.program.program import Link, Program, Value
from symbayes.symmetry.program.rules.control import RULES as CONTROL
from symbayes.symmetry.program.rules.control import inner
from symbayes.symmetry.program.trace import Walker, jaxpr_of, program_of

ROOM = "activations"
"""The first part of an activation's path."""
LOOPS = ("cond", "scan", "while")


class Recorder(Walker):
    """A walker that remembers the results of every operation outside loops, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[list[Value]] = []
        self.depth = 0

    def step(self, eqn: JaxprEqn, ins: list[Value]) -> list[Value]:
        looped = eqn.primitive.name in LOOPS
        self.depth += looped
        outs = super().step(eqn, ins)
        self.depth -= looped
        if not self.depth and not _is_call(eqn):
            self.made.append(outs)
        return outs


def _is_call(eqn: JaxprEqn) -> bool:
    return eqn.primitive.name in CONTROL and eqn.primitive.name not in LOOPS


Spot = tuple[int, int]
"""The number of an operation, in the order of a recorder, and of its result."""


@dataclass(frozen=True)
class Observed:
    """A program's activations: how to compute them, and a group that moves them as well as the parameters."""

    group: Symmetry
    spots: Mapping[str, Spot]
    jaxpr: Any
    inputs: tuple[Any, ...]

    def __call__(self, flat: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, jax.Array]:
        """The activations of one network by path."""
        parameters = [flat[path] for path in self.group.shapes if path not in self.spots]
        found = dict(_results(self.jaxpr, [*parameters, *inputs], itertools.count(), []))
        return {path: found[spot] for path, spot in self.spots.items()}


def observe(
    apply: Callable[..., Any], group: Symmetry, example: Mapping[str, np.ndarray], x: Any
) -> Observed:
    """What can be observed of the units that a group permutes; the signs that act on it are not yet known."""
    tree = trees.variables({path: example[path] for path in group.shapes})
    Evaluation.of(apply, tree, x)  # refuses what is not a pure function of fixed shapes

    def function(leaves: Sequence[Any], inputs: Any) -> Any:
        return apply(trees.variables(dict(zip(group.shapes, leaves, strict=True))), inputs)

    jaxpr = jaxpr_of(function, [example[path] for path in group.shapes], x)
    walker = Recorder()
    program = program_of(jaxpr, list(group.shapes), walker)
    pointwise.fuse(program)
    permute.align(program)
    names = _names(program, group)
    spots = {id(value): (n, k) for n, outs in enumerate(walker.made) for k, value in enumerate(outs)}
    seen = {}
    for value in _read(program, spots):
        if any(names.get(atom) in group.indices.over for term in value.axes for atom in atoms(term)):
            seen[spots[id(value)]] = value
    wide = _widened(group, list(seen.values()), names)
    paths = {f"{ROOM}/{k}": spot for k, spot in enumerate(seen)}
    return Observed(wide, paths, jaxpr, tuple(jax.tree.leaves(x)))


def _results(
    jaxpr: Any, args: Sequence[Any], numbers: Iterator[int], results: list[Any]
) -> Iterator[tuple[Spot, Any]]:
    """Everything that a jaxpr computes outside loops, in the order of a recorder; its results are added."""
    jaxpr, constants = inner(jaxpr)
    env = dict(zip(jaxpr.constvars, constants, strict=True)) | dict(zip(jaxpr.invars, args, strict=True))

    def read(var: Any) -> Any:
        return var.val if isinstance(var, Literal) else env[var]

    for eqn in jaxpr.eqns:
        ins, outs = [read(var) for var in eqn.invars], []
        if _is_call(eqn):
            yield from _results(eqn.params.get("jaxpr", eqn.params.get("call_jaxpr")), ins, numbers, outs)
        else:
            found = eqn.primitive.bind(*ins, **eqn.params)
            outs = list(found) if eqn.primitive.multiple_results else [found]
            number = next(numbers)
            yield from (((number, k), out) for k, out in enumerate(outs))
        env |= dict(zip(eqn.outvars, outs, strict=True))
    results += [read(var) for var in jaxpr.outvars]


def _names(program: Program, group: Symmetry) -> dict[Atom, str]:
    """The group's names of the program's atoms."""
    names: dict[Atom, str] = {}
    for path, value in program.parameters.items():
        for term, parts in zip(value.axes, group.axes[path], strict=True):
            here = [found for _, found in places(term)]
            if [tuple(atom.size for atom, _ in found) for found in here] != [
                group.indices.shape(part.names) for part in parts
            ]:
                raise ValueError(f"the parameter {path!r} moves otherwise in apply: the group is another's")
            for found, part in zip(here, parts, strict=True):
                names |= {atom: name for (atom, _), name in zip(found, part.names, strict=True)}
    return names


def _read(program: Program, spots: Mapping[int, Spot]) -> Iterator[Value]:
    """The recorded values, computed from parameters and input, that contractions read."""
    producers = {id(step.out): step for step in program.steps}
    fed = {id(v) for step in program.steps for v in step.ins if v.data and v.constant is None}
    before = -1
    while len(fed) != before:
        before = len(fed)
        fed |= {id(step.out) for step in program.steps if any(id(value) in fed for value in step.ins)}
    for step in program.steps:
        if not isinstance(step, Link) or step.law != PRODUCT or len(step.ins) != 2:
            continue
        if not (set(step.in_labels[0]) & set(step.in_labels[1])) - {None, *step.out_labels}:
            continue
        for value in step.ins:
            while id(value) not in spots and id(value) in producers and len(producers[id(value)].ins) == 1:
                value = producers[id(value)].ins[0]
            if id(value) in spots and id(value) in fed and value.numeric and not value.data:
                yield value


def _widened(group: Symmetry, seen: Sequence[Value], names: dict[Atom, str]) -> Symmetry:
    """The group with activations as if they were parameters; axes of the data have names of their own."""
    sizes = dict(group.indices.sizes)
    fresh = (f"data:{k}" for k in itertools.count())

    def name_of(atom: Atom) -> str:
        if atom not in names:
            names[atom] = next(fresh)
            sizes[names[atom]] = atom.size
        return names[atom]

    def parts_of(term: Term) -> Parts:
        term = resolve(term)
        if isinstance(term, Uniform) and term.size > 1:
            term = Atom(term.size)
        return tuple(
            Part(offset, tuple(name_of(atom) for atom, _ in found), tuple(stride for _, stride in found))
            for offset, found in places(term)
        )

    axes = {f"{ROOM}/{k}": tuple(map(parts_of, value.axes)) for k, value in enumerate(seen)}
    return dataclasses.replace(
        group,
        shapes=dict(group.shapes) | {path: value.shape for path, value in zip(axes, seen, strict=True)},
        axes=dict(group.axes) | axes,
        indices=Indices(sizes, group.indices.over),
    )
