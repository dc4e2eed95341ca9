"""Finding the symmetries of a program, and checking each before it is believed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import jax
import numpy as np

from symbayes import trees
from symbayes.symmetry.discovery import permute
from symbayes.symmetry.discovery.assemble import assemble, free_atoms
from symbayes.symmetry.discovery.diagonal import Diagonal
from symbayes.symmetry.discovery.generators import Generator, beyond, generators
from symbayes.symmetry.discovery.uses import completed, usages
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.members import Factor, Permutation
from symbayes.symmetry.group.trial import Trial
from symbayes.symmetry.program import pointwise
from symbayes.symmetry.program.axes import Atom, pin
from symbayes.symmetry.program.evaluation import Evaluation
from symbayes.symmetry.program.program import Program
from symbayes.symmetry.program.trace import program_of

POINTS, POINTS_OF_CHOICES = 3, 10
"""At how many points a group is tried, and a program that makes choices: these hide changes from many."""


def discover(apply: Callable[..., trees.Tree], variables: trees.Tree, x: trees.Tree) -> Symmetry:
    """The maximal group of permutations, signs and positive scalings of the parameters that keep
    ``apply(variables, x)``.

    `apply` is any pure function of a nested dict of arrays and an input: it is traced, not looked up in a
    table. Axes that the analysis does not understand are left in place and reported under `pinned`. The
    symmetries found are checked in float64, with several elements, networks and inputs; those that fail are
    reported under `dropped`. Entries of a parameter that this input does not use get no symmetry.
    """
    evaluation = Evaluation.of(apply, variables, x)
    program = _analysed(evaluation)
    partly = usages(program)

    def solved(kind: str, ignore_epsilon: bool = False) -> list[Generator]:
        found = generators(Diagonal(program, partly, kind, ignore_epsilon))
        return [completed(generator, partly) for generator in found]

    signs, scales = solved("sign"), solved("scale")
    loose = beyond(scales, solved("scale", ignore_epsilon=True))
    over = _closed(permute.dependencies(program), [*signs, *scales])
    # One compiled function tries everything: the loose scales ride along at zero.
    group = assemble(program, over, signs, [*scales, *loose])
    trial = Trial(group, evaluation, variables, points=POINTS_OF_CHOICES if _chooses(program) else POINTS)
    drawn = trial.elements()
    for member in group.scales[len(scales) :]:
        for element in drawn:
            element.log_scales[member.name] *= 0
    dropped: tuple[str, ...] = ()
    if failing := trial.failing(drawn):
        signs, scales, dropped = _without_failures(program, signs, scales, trial, drawn, failing)
    group = assemble(program, over, signs, scales)
    return dataclasses.replace(group, dropped=dropped, invariances=_invariances(trial, len(loose)))


def _chooses(program: Program) -> bool:
    """Whether the program compares, or picks by, numbers that depend on the parameters."""
    return any(
        not step.out.numeric and any(value.numeric and not value.data for value in step.ins)
        for step in program.steps
    )


def _analysed(evaluation: Evaluation) -> Program:
    with jax.enable_x64(True):
        program = program_of(evaluation.jaxpr, evaluation.paths)
        pointwise.fuse(program)
        permute.align(program)
    for path, value in program.parameters.items():
        if not program.uses(path):
            for term in value.axes:
                pin(term, "the program does not use this parameter")
    return program


def _closed(over: dict[Atom, list[Atom]], found: list[Generator]) -> dict[Atom, list[Atom]]:
    """Without the dependencies under which a permutation would carry a function out of its generator."""
    over = {atom: list(others) for atom, others in over.items()}
    for generator in found:
        for atom in generator.atoms:
            over[atom] = [other for other in over.get(atom, []) if other in generator.atoms]
    return {
        atom: [other for other in others if set(over.get(other, ())) <= set(others)]
        for atom, others in over.items()
    }


def _without_failures(
    program: Program,
    signs: Sequence[Generator],
    scales: Sequence[Generator],
    trial: Trial,
    drawn: Sequence[Element],
    failing: Sequence[int],
) -> tuple[list[Generator], list[Generator], tuple[str, ...]]:
    """The signs and scales that, each by itself, keep the outputs where all together did not, and a line on
    each of the others.

    Permutations that fail are pinned.
    """
    still = trial.group.unmoved()
    dropped: list[str] = []
    kept = [trial.group.unmoved() for _ in drawn]

    def alone(kind: str, name: str, k: int) -> Element:
        return dataclasses.replace(
            still, **{kind: getattr(still, kind) | {name: getattr(drawn[k], kind)[name]}}
        )

    def holds(kind: str, member: Permutation | Factor) -> bool:
        for k in failing:
            element = alone(kind, member.name, k)
            if trial.relative_change(element, trial.points[k]) > trial.tolerance:
                change = trial.change(element, trial.points[k])
                places = ", ".join(dict.fromkeys(move.path for move in member.moves))
                dropped.append(f"{kind} of {member.name} ({places}): the outputs change by {change:.1e}")
                return False
        for element, whole in zip(kept, drawn, strict=True):
            getattr(element, kind)[member.name] = getattr(whole, kind)[member.name]
        return True

    group = trial.group
    for atom, member in zip(free_atoms(program), group.permutations, strict=True):
        if not holds("permutations", member):
            pin(atom, "failed the numerical check")
    signs = [g for g, member in zip(signs, group.signs, strict=True) if holds("signs", member)]
    scales = [g for g, member in zip(scales, group.scales, strict=False) if holds("log_scales", member)]
    for k in trial.failing(kept):
        change = trial.change(kept[k], trial.points[k])
        raise ValueError(
            f"the symmetries found do not hold together: they change the outputs by {change:.1e}"
        )
    return signs, scales, tuple(dropped)


def _invariances(trial: Trial, count: int) -> tuple[Factor, ...]:
    """The scalings that only an epsilon spoils, with the relative change when all are doubled."""
    loose = trial.group.scales[len(trial.group.scales) - count :]
    element = trial.group.unmoved()
    for factor in loose:
        element.log_scales[factor.name] += np.log(2.0)
    error = trial.relative_change(element, trial.points[0]) if loose else 0.0
    return tuple(dataclasses.replace(factor, error=error) for factor in loose)
