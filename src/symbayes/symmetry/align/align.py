"""Aligning draws: one element of the group for each, so that all lie near a reference or near one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from symbayes import trees
from symbayes.brief import briefly
from symbayes.draws import Draws
from symbayes.symmetry.align.control import Sample, null_draws
from symbayes.symmetry.align.criteria.weights import Weights
from symbayes.symmetry.align.criterion import Criterion
from symbayes.symmetry.align.reference import reference_of
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.stack import Stack


@briefly
@dataclass(frozen=True)
class Alignment:
    """Aligned draws and their elements (it unpacks into these two), and the course of the objective.

    `draws` of a stored run are moved when they are read: ``draws.blocks(size)`` iterates over them without
    holding all in memory.  `objective` is defined by the criterion; it starts with that of the draws in their
    own order and never falls.  For a reference it has the values before and after; for joint alignment, those
    before and after every sweep.  `notes` are sentences on what the criterion could not do.  `control` is the
    alignment of the null control.
    """

    draws: Draws | trees.Tree
    elements: Element
    objective: np.ndarray
    control: Alignment | None = None
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Draws | Element]:
        return iter((self.draws, self.elements))


def align(
    draws: Draws | trees.Tree,
    group: Symmetry,
    to: str | Draws | trees.Tree = "joint",
    by: Criterion | None = None,
    restarts: int = 1,
    seed: int = 0,
    control: bool | Sample | Draws | trees.Tree | None = None,
) -> Alignment:
    """Move every draw by an element of the group, so that weights can be compared across draws.

    `draws` are draws, or a tree with one leading axis.  `to` is ``"joint"``, the variables of one network, or
    draws whose mean is the reference.  `by` is `Weights()` unless given.  Aligned to a reference, draws take
    its scales; aligned jointly, those of `by`.  The first of the `restarts` begins from the draws as they
    are, the others elsewhere; the best is kept.

    `control` aligns pure noise in the same way: an effect no larger than there is no evidence.  True makes as
    many draws of ``N(0, rms^2)``, with the root mean square of each parameter array over the draws; a
    function from a key to one network's parameters makes as many draws of it (of the prior: ``lambda key:
    posterior.prior.sample(key, params)``); both follow from `seed`.  Draws are taken as they are.
    """
    by = Weights() if by is None else by
    if not isinstance(by, Criterion):
        raise TypeError(f"by is a criterion such as Weights(), not {type(by).__name__}")
    if restarts < 1:
        raise ValueError(f"restarts counts the starts, so it is at least 1, not {restarts}")
    if isinstance(to, str) and to != "joint":
        raise ValueError(f"to is 'joint', the variables of a network or draws, not {to!r}")
    stack = Stack.of(draws, group)
    reference = None if isinstance(to, str) else reference_of(to, group)
    found = by.elements(stack, reference, restarts, seed)
    null = None
    if control is not None and control is not False:
        if control is True or callable(control):
            control = null_draws(stack, None if control is True else control, seed)
        null = align(control, group, to, by, restarts, seed)
    return Alignment(stack.moved(found.elements), found.elements, found.objective, null, found.notes)
