"""Matching two Gaussians over weights by their means and standard deviations."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.symmetry.align.starts import best_match
from symbayes.symmetry.canonical.scales import log_scales_of_one, require_scale
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.frame import Frame, Plan
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.terms import Term, terms_of

DEVIATIONS = "deviations/"


@dataclass(frozen=True)
class GaussianMatch:
    """The element that carries one Gaussian to another, and where it carries it.

    `squared_distance` is the squared 2-Wasserstein distance in the first's own order and after; both are
    taken at the scales in which the two were compared, which without scales are their own.
    """

    element: Element
    mean: trees.Tree
    deviation: trees.Tree
    squared_distance: np.ndarray


def match_gaussians(
    mean: trees.Tree,
    deviation: trees.Tree,
    to_mean: trees.Tree,
    to_deviation: trees.Tree,
    group: Symmetry,
    scale: str | None = "minimal-mass",
    restarts: int = 1,
    seed: int = 0,
) -> GaussianMatch:
    """Carry ``N(mean, deviation^2)`` as near as can be to ``N(to_mean, to_deviation^2)``, both diagonal.

    The squared 2-Wasserstein distance ``|m' - g m|^2 + |s' - |g| s|^2`` is smallest where ``<m', g m> + <s',
    |g| s>`` is largest: permutations move means and deviations alike, signs the means alone.  Coordinate
    ascent as for `Weights`, whose scales of the two means are taken out of both before, and those of the
    reference put in after.  Running statistics follow, and need no deviation.
    """
    if restarts < 1:
        raise ValueError(f"restarts counts the starts, so it is at least 1, not {restarts}")
    require_scale(scale)
    plan = GaussianPlan(group)
    ours = _flat(group, mean, deviation, "the Gaussian")
    theirs = _flat(group, to_mean, to_deviation, "the reference")
    scales = log_scales_of_one(scale, group, theirs)
    target = Frame.at_scales(plan, theirs, scales).arrays
    frame = Frame.at_scales(plan, ours, log_scales_of_one(scale, group, ours))
    best = best_match(plan, target, frame, restarts, (seed,)).frame
    element = jax.tree.map(jnp.asarray, best.element().without_scales(scales))
    # Deviations have no sign.
    unsigned = dataclasses.replace(element, signs=jax.tree.map(jnp.abs, element.signs))
    spread = trees.like(mean, {path: ours[f"{DEVIATIONS}{path}"] for path in group.shapes})
    return GaussianMatch(
        element,
        jax.tree.map(np.asarray, group.act(element, mean)),
        jax.tree.map(np.asarray, group.act(unsigned, spread)),
        np.array([_squared_distance(target, frame.arrays), _squared_distance(target, best.arrays)]),
    )


@dataclass(frozen=True)
class GaussianPlan(Plan):
    """Means with deviations beside them, on which no sign acts."""

    @cached_property
    def terms(self) -> list[Term]:
        means = [term for term in terms_of(self.group) if term.weighs]
        return means + [
            dataclasses.replace(term, path=f"{DEVIATIONS}{term.path}", signs=()) for term in means
        ]


def _flat(group: Symmetry, mean: trees.Tree, deviation: trees.Tree, whose: str) -> dict[str, np.ndarray]:
    """Means by path, and deviations by path behind a prefix; refused if not those of a Gaussian."""
    means = {path: np.asarray(leaf, np.float32) for path, leaf in trees.flatten(mean).items()}
    group.expect(means)
    given = {path: np.asarray(leaf, np.float32) for path, leaf in trees.flatten(deviation).items()}
    given |= {path: np.zeros_like(means[path]) for path in means.keys() - given if path.startswith("stats/")}
    group.expect(given)
    for path, leaf in means.items():
        if not (np.all(np.isfinite(leaf)) and np.all(np.isfinite(given[path]))):
            raise ValueError(f"the parameter {path!r} of {whose} is not finite")
        if np.any(given[path] < 0):
            raise ValueError(f"the parameter {path!r} of {whose} has a negative deviation")
    return means | {f"{DEVIATIONS}{path}": leaf for path, leaf in given.items()}


def _squared_distance(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return sum(float(np.sum(np.square(x - y, dtype=np.float64))) for x, y in zip(a, b, strict=True))
