"""What a step of an alignment does to a network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from symbayes.symmetry.group.frame import Frame, Place, Plan


@dataclass(frozen=True)
class Reorder:
    """A permutation of one index, and the signs its units take at their new places."""

    plan: Plan
    name: str
    rows: np.ndarray
    numbers: np.ndarray
    """For every place, the number of the choice of the index's own signs."""

    @classmethod
    def swapping(cls, plan: Plan, name: str, pairs: Iterable[tuple[int, int]]) -> Reorder:
        """Exchange pairs of units."""
        rows = np.arange(plan.group.indices.sizes[name])[None]
        for i, j in pairs:
            rows[0, [i, j]] = rows[0, [j, i]]
        return cls(plan, name, rows, np.zeros(rows.shape, np.int8))

    def signs(self, sign: str) -> np.ndarray:
        """The values of one of the index's own signs, one row for each permutation."""
        negative = self.numbers >> self.plan.own[self.name].index(sign) & 1
        return (1 - 2 * negative).astype(np.int8)

    def apply(self, frame: Frame) -> None:
        frame.move(self.name, self.rows)
        names = [*self.plan.over[self.name], self.name]
        sizes = self.plan.group.indices.shape(names)
        for sign in self.plan.own[self.name]:
            order = [names.index(other) for other in self.plan.sign_over[sign]]
            frame.flip(sign, self.signs(sign).reshape(sizes).transpose(order).ravel())

    def gram(self, gram: np.ndarray, place: Place) -> np.ndarray:
        """A Gram matrix of the index after this: its columns follow."""
        # Many times faster than one gather over a batch.
        moved = np.stack([matrix.take(rows, -1) for matrix, rows in zip(gram, self.rows, strict=True)])
        for sign in place.pattern:
            moved = moved * self.signs(sign)[:, None, :]
        return moved


@dataclass(frozen=True)
class Flip:
    """New signs, over the flattened indices of the sign."""

    name: str
    signs: np.ndarray

    def apply(self, frame: Frame) -> None:
        frame.flip(self.name, self.signs)


@dataclass(frozen=True)
class Step:
    """What a step of an index (or of ``"sign/" + name``) does in turn, and what its Gram matrices promise."""

    name: str
    gain: float = 0.0
    parts: list[Reorder | Flip] = field(default_factory=list)

    @property
    def moves(self) -> set[str]:
        """What the step moves, as it is named: the index or sign, and signs that it flips with it."""
        return {self.name, *(f"sign/{part.name}" for part in self.parts if isinstance(part, Flip))}

    def apply(self, frame: Frame) -> None:
        for part in self.parts:
            part.apply(frame)
