"""Matching networks by what their units do on data: a high correlation of activations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.symmetry.align.criteria.covariance import measured
from symbayes.symmetry.align.criteria.observe import Observed, observe
from symbayes.symmetry.align.criterion import Found
from symbayes.symmetry.align.reference import climb
from symbayes.symmetry.canonical.scales import require_scale
from symbayes.symmetry.group.frame import Plan
from symbayes.symmetry.group.stack import Stack
from symbayes.symmetry.group.terms import Term, terms_of

TIES = 1e-2
"""The size of the weights' inner product, relative to that of the activations'."""
CONSTANT = 1e-5
"""Activations that vary by no more than this, relative to their size, are constant up to rounding."""


@dataclass(frozen=True, eq=False)
class Activations:
    """Maximise the correlations of hidden units' activations on the data x, summed over units.

    A unit's activations over all data (and positions), less their mean and divided by their norm, are a
    vector a; the objective is ``sum_u <a_u(r), a_u(g w)>`` (Li, Yosinski, Clune, Lipson, Hopcroft 2015;
    activation matching of Ainsworth, Hayase, Srinivasa 2023), jointly its sum over all pairs of draws.  What
    is observed of ``apply(variables, x)`` is every value that a contraction reads and whose axes are
    permuted; signs are chosen with the order, and scales, which a correlation does not see, are those of
    `Weights`.  Where activations do not tell (units that are constant on x; orders and signs that act on no
    activation, of which a note is made) the inner product of weights does: it is added with a hundredth of
    the size.
    """

    apply: Callable[..., trees.Tree]
    x: trees.Tree
    scale: str | None = "minimal-mass"

    def __post_init__(self) -> None:
        require_scale(self.scale)

    def elements(
        self, stack: Stack, reference: Mapping[str, np.ndarray] | None, restarts: int, seed: int
    ) -> Found:
        _, flat = next(iter(stack.blocks()))
        example = trees.index(flat, 0)
        seen = measured(observe(self.apply, stack.group, example, self.x), stack.group, example)
        plan = ActivationPlan(stack.group, seen)
        return climb(self.scale, stack, plan, reference, restarts, seed, plan.notes)


@dataclass(frozen=True)
class ActivationPlan(Plan):
    """Activations in the place of weights, and weights of little size beside them."""

    seen: Observed

    @cached_property
    def activations(self) -> list[Term]:
        terms = [term for term in terms_of(self.seen.group) if term.path in self.seen.spots]
        # What is divided by its norm does not change with the scale.
        return [
            dataclasses.replace(t, scales=()) for t in terms if any(name in self.over for name in t.names)
        ]

    @cached_property
    def weights(self) -> list[Term]:
        terms = [term for term in terms_of(self.group) if term.weighs]
        return [term for term in terms if term.signs or any(name in self.over for name in term.names)]

    @cached_property
    def terms(self) -> list[Term]:
        return [*self.activations, *self.weights]

    @property
    def notes(self) -> tuple[str, ...]:
        """What no activation shows."""
        signs = {acting.name for term in self.activations for acting in term.signs}
        names = {name for term in self.activations for name in term.names}
        unseen = [("order", name) for name in self.over if name not in names]
        unseen += [("signs", name) for name in self.sign_over if name not in signs]
        return tuple(
            f"no activation shows the {kind} of {name!r}: matched by weights" for kind, name in unseen
        )

    def cut(self, flat: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The activations of one network, standardised, and its weights."""
        vectors = self._standardised(dict(flat), self.seen.inputs)
        weights = [term.take(flat[term.path]) for term in self.weights]
        square = sum(float(np.sum(np.square(array, dtype=np.float64))) for array in weights)
        factor = np.sqrt(TIES * self.units / square) if square else 0.0
        return [np.asarray(a, np.float32, order="C") for a in (*vectors, *(factor * w for w in weights))]

    @cached_property
    def units(self) -> int:
        """The number of units observed, which is the largest sum of correlations."""
        return max(
            1, sum(int(np.prod([term.shape[k] for k in self.rows(term)])) for term in self.activations)
        )

    def rows(self, term: Term) -> list[int]:
        """The axes of a term that tell units apart; the others are data."""
        factors = (*self.group.signs, *self.group.scales)
        indices = {*self.over, *(name for factor in factors for name in factor.over)}
        return [k for k, name in enumerate(term.names) if name in indices]

    @cached_property
    def _standardised(self) -> Callable[..., list[jax.Array]]:
        @jax.jit
        def standardised(flat: dict[str, Any], inputs: tuple[Any, ...]) -> list[jax.Array]:
            values = self.seen(flat, inputs)
            found = []
            for term in self.activations:
                array = term.take(values[term.path]).astype(jnp.float32)
                data = tuple(k for k in range(array.ndim) if k not in self.rows(term))
                size = jnp.sqrt(jnp.sum(jnp.square(array), data, keepdims=True))
                array = array - array.mean(data, keepdims=True)
                norm = jnp.sqrt(jnp.sum(jnp.square(array), data, keepdims=True))
                varies = norm > CONSTANT * size
                found.append(jnp.where(varies, array / jnp.where(varies, norm, 1), 0))
            return found

        return standardised
