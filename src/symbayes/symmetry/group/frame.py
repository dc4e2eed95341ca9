"""One network as it stands while it is aligned: its terms after an element, and the element."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.patterns import Pattern, together
from symbayes.symmetry.group.terms import Term, multiplied, parents_first, permuted, terms_of

OWN_SIGNS = 6
"""The most signs of an index that act together and are chosen with its permutation: all values are tried."""


@dataclass(frozen=True)
class Place:
    """An axis of a term that carries a permuted index, the index's own signs that act along it, and the
    shared signs that act on the term.
    """

    term: int
    axis: int
    pattern: Pattern
    shared: Pattern = frozenset()


@dataclass(frozen=True)
class Plan:
    """What aligning needs to know of a group: its terms, and where each index and sign is met."""

    group: Symmetry

    @cached_property
    def terms(self) -> list[Term]:
        return [term for term in terms_of(self.group) if term.weighs]

    @cached_property
    def over(self) -> Mapping[str, tuple[str, ...]]:
        return self.group.indices.over

    @cached_property
    def sign_over(self) -> dict[str, tuple[str, ...]]:
        return {sign.name: sign.over for sign in self.group.signs}

    @cached_property
    def scale_over(self) -> dict[str, tuple[str, ...]]:
        return {scale.name: scale.over for scale in self.group.scales}

    @cached_property
    def own(self) -> dict[str, tuple[str, ...]]:
        """The signs that every unit of an index has for itself: they are chosen with its permutation."""
        acting = [frozenset(sign.name for sign in term.signs) for term in self.terms]
        found = {}
        for name, outer in self.over.items():
            signs = [sign for sign, over in self.sign_over.items() if set(over) == {*outer, name}]
            # Where others depend on the index, all values of its signs are tried at once.
            groups = [signs] if self.dependants[name] else together(acting, signs)
            chosen = {sign for group in groups for sign in group[:OWN_SIGNS]}
            found[name] = tuple(sign for sign in signs if sign in chosen)
        return found

    @cached_property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """The signs that units of an index have in common: of a whole residual stream, or one for every value
        of what the index depends on.  They are chosen with its permutation too.
        """
        found = {}
        for name, outer in self.over.items():
            acting = {sign.name for k in self.touched[name] for sign in self.terms[k].signs}
            found[name] = tuple(
                sign
                for sign, over in self.sign_over.items()
                if sign in acting - set(self.own[name])
                and self._wide(over) <= self._wide(outer)
                and f"sign/{sign}" in self.exact
            )
        return found

    @cached_property
    def lone(self) -> tuple[tuple[str, int], ...]:
        """The signs, and which of their values, that belong to no single unit of a permuted index."""
        units = [{*outer, name} for name, outer in self.over.items()]
        lone = [s for s in self.group.signs if set(s.over) not in units and self.touched[f"sign/{s.name}"]]
        return tuple((s.name, k) for s in sorted(lone, key=lambda s: s.size) for k in range(s.size))

    def _wide(self, names: Sequence[str]) -> set[str]:
        """Those of some indices that have more than one value."""
        return {name for name in names if self.group.indices.sizes[name] > 1}

    @cached_property
    def places(self) -> dict[str, list[Place]]:
        found: dict[str, list[Place]] = {name: [] for name in self.over}
        for number, term in enumerate(self.terms):
            acting = {sign.name for sign in term.signs}
            for axis, name in enumerate(term.names):
                if name in found:
                    along = {sign.name for sign in term.signs if axis in sign.places}
                    own = frozenset(along & set(self.own[name]))
                    found[name].append(Place(number, axis, own, frozenset(acting & set(self.shared[name]))))
        return found

    @cached_property
    def dependants(self) -> dict[str, tuple[str, ...]]:
        """The indices that are permuted separately for every value of an index."""
        return {name: tuple(d for d in self.over if name in self.over[d]) for name in self.over}

    @cached_property
    def quadratic(self) -> set[str]:
        """The indices that some term carries more than once."""
        return {name for name in self.over for term in self.terms if term.names.count(name) > 1}

    @cached_property
    def exact(self) -> set[str]:
        """The steps whose gain is linear in what they choose, so that Gram matrices tell it exactly."""
        signs = {
            f"sign/{sign}"
            for sign in self.sign_over
            if all([acting.name for acting in term.signs].count(sign) < 2 for term in self.terms)
        }
        return signs | {n for n in self.over if n not in self.quadratic and not self.dependants[n]}

    @cached_property
    def classes(self) -> list[list[str]]:
        """The permuted indices in groups that share no term, so that each group can move at once."""
        meets = {
            name: {n for place in self.places[name] for n in self.terms[place.term].names}
            for name in self.over
        }
        classes: list[list[str]] = []
        for name in parents_first(self.over):
            for members in classes:
                if not any(other in meets[name] or name in meets[other] for other in members):
                    members.append(name)
                    break
            else:
                classes.append([name])
        return classes

    @cached_property
    def touched(self) -> dict[str, set[int]]:
        """The terms that each permutation (by name) and each sign (``"sign/" + name``) moves."""
        found = {name: {k for k, term in enumerate(self.terms) if name in term.names} for name in self.over}
        for sign in self.sign_over:
            found[f"sign/{sign}"] = {
                k for k, term in enumerate(self.terms) if any(s.name == sign for s in term.signs)
            }
        return found

    def touched_by(self, names: Iterable[str]) -> set[int]:
        """The terms that some permutations and signs move."""
        return set().union(*(self.touched[name] for name in names))

    def cut(self, flat: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The terms of one network's parameters."""
        return [np.asarray(term.take(flat[term.path]), np.float32, order="C") for term in self.terms]


@dataclass
class Frame:
    """A network's terms after its element.

    Beside them move, as if they were parameters, the number that every unit had at first, and the signs and
    log-scales: at the end they are the element.
    """

    plan: Plan
    arrays: list[np.ndarray]
    labels: dict[str, np.ndarray]
    signs: dict[str, np.ndarray]
    log_scales: dict[str, np.ndarray]

    @classmethod
    def start(cls, plan: Plan, arrays: Sequence[np.ndarray], element: Element) -> Frame:
        """Terms as they were read, moved by an element."""
        indices = plan.group.indices
        shapes = {name: indices.shape([*over, name]) for name, over in plan.over.items()}
        frame = cls(
            plan,
            list(arrays),
            {name: np.arange(int(np.prod(shape))).reshape(shape) for name, shape in shapes.items()},
            {name: np.ones(indices.shape(over), np.int8) for name, over in plan.sign_over.items()},
            {name: np.zeros(indices.shape(over), np.float32) for name, over in plan.scale_over.items()},
        )
        for name in parents_first(plan.over):
            frame.move(name, np.asarray(element.permutations[name]))
        for name in plan.sign_over:
            frame.flip(name, np.asarray(element.signs[name]))
        for name in plan.scale_over:
            frame.scale(name, np.asarray(element.log_scales[name]))
        return frame

    @classmethod
    def at_scales(
        cls, plan: Plan, flat: Mapping[str, np.ndarray], log_scales: Mapping[str, np.ndarray]
    ) -> Frame:
        """A network as it was read, but for its scales."""
        still = plan.group.unmoved()
        element = Element(still.permutations, still.signs, dict(log_scales))
        return cls.start(plan, plan.cut(flat), element)

    def move(self, name: str, rows: np.ndarray) -> None:
        """Permute an index: the unit at place i becomes the one that was at ``rows[i]``."""
        if np.array_equal(rows, np.broadcast_to(np.arange(rows.shape[-1]), rows.shape)):
            return
        plan, indices = self.plan, self.plan.group.indices
        for k in plan.touched[name]:
            self.arrays[k] = permuted(self.arrays[k], plan.terms[k].names, name, rows, indices)
        for other, over in plan.over.items():
            if name in (*over, other):
                self.labels[other] = permuted(self.labels[other], (*over, other), name, rows, indices)
        for factors, found in ((self.signs, plan.sign_over), (self.log_scales, plan.scale_over)):
            for factor, over in found.items():
                if name in over:
                    factors[factor] = permuted(factors[factor], over, name, rows, indices)

    def flip(self, name: str, signs: np.ndarray) -> None:
        """Multiply by signs, given over the flattened indices of the sign."""
        if np.all(signs == 1):
            return
        signs = signs.reshape(self.signs[name].shape).astype(np.int8)
        self.signs[name] = np.asarray(self.signs[name] * signs)
        for k in self.plan.touched[f"sign/{name}"]:
            for acting in self.plan.terms[k].signs:
                if acting.name == name:
                    self.arrays[k] = multiplied(self.arrays[k], acting.places, signs)

    def scale(self, name: str, log_scales: np.ndarray) -> None:
        """Multiply by scales, given over the flattened indices of the scale."""
        if not np.any(log_scales):
            return
        log_scales = log_scales.reshape(self.log_scales[name].shape).astype(np.float32)
        self.log_scales[name] = np.asarray(self.log_scales[name] + log_scales)
        for k, term in enumerate(self.plan.terms):
            for acting in term.scales:
                if acting.name == name:
                    factor = np.asarray(np.exp(acting.exponent * log_scales))
                    self.arrays[k] = multiplied(self.arrays[k], acting.places, factor)

    def copy(self) -> Frame:
        return dataclasses.replace(
            self,
            arrays=list(self.arrays),
            labels=dict(self.labels),
            signs=dict(self.signs),
            log_scales=dict(self.log_scales),
        )

    def element(self) -> Element:
        """What led here."""
        return Element(
            {
                name: (label % label.shape[-1]).reshape(-1, label.shape[-1]).astype(np.int32)
                for name, label in self.labels.items()
            },
            {name: signs.ravel() for name, signs in self.signs.items()},
            {name: logs.ravel() for name, logs in self.log_scales.items()},
        )
