"""Networks to be moved one by one: draws, or a tree with one leading axis, walked in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.typing import DTypeLike

from symbayes import trees
from symbayes.draws import Draws
from symbayes.draws.draws import VARIABLES, DerivedSegment, MemorySegment, Segment
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.group import Symmetry

BLOCK_BYTES = 2**28


@dataclass(frozen=True)
class Stack:
    """Draws and the group that moves them."""

    draws: Draws
    group: Symmetry
    tree: trees.Tree | None
    """The tree that was given, if no draws were."""

    @classmethod
    def of(cls, draws: Draws | trees.Tree, group: Symmetry) -> Stack:
        """Draws as they are, or a tree as one chain; refused if of another network."""
        if isinstance(draws, Draws):
            draws.forward.require_plain("aligned or brought to a canonical form")
            stack = cls(draws, group, None)
        else:
            flat = trees.flatten(draws)
            counts = {name: np.shape(leaf)[:1] for name, leaf in flat.items()}
            if () in counts.values() or len(set(counts.values())) != 1:
                raise ValueError(f"all parameters start with one common axis over draws, not {counts}")
            chain = {f"{VARIABLES}/{name}": np.asarray(leaf)[None] for name, leaf in flat.items()}
            stack = cls(Draws.from_arrays(chain), group, draws)
        group.expect(
            {name: jax.ShapeDtypeStruct(shape, np.float32) for name, shape in stack.draws.shapes.items()}
        )
        return stack

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes of the draws."""
        return (len(self.draws),) if self.tree is not None else (self.draws.chains, len(self.draws))

    @property
    def count(self) -> int:
        return self.draws.chains * len(self.draws)

    def blocks(self) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """The numbers of some draws, and their parameters by name with these draws as first axis."""
        start = 0
        for block in self.draws.blocks(self.draws.draws_within(BLOCK_BYTES)):
            stop = start + len(block)
            ids = (np.arange(self.draws.chains)[:, None] * len(self.draws) + np.arange(start, stop)).ravel()
            flat = {
                name: leaf.reshape(-1, *leaf.shape[2:])
                for name, leaf in trees.flatten(block.variables).items()
            }
            for name, leaf in flat.items():
                if not np.all(np.isfinite(leaf)):
                    number = int(ids[np.argwhere(~np.isfinite(leaf))[0][0]])
                    raise ValueError(
                        f"the parameter {name!r} of draw {number} is not finite: leave such draws out"
                    )
            yield ids, flat
            start = stop

    def elements(
        self,
        permutations: Mapping[str, np.ndarray] | None = None,
        signs: Mapping[str, np.ndarray] | None = None,
        log_scales: Mapping[str, np.ndarray] | None = None,
    ) -> Element:
        """One element per draw, with the draws' leading axes; what is not given is the identity."""

        def shaped(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
            return np.asarray(array, dtype).reshape(*self.lead, *np.shape(array)[1:])

        group, n = self.group, self.count
        still = {p.name: np.tile(np.arange(p.size), (n, p.copies, 1)) for p in group.permutations}
        return Element(
            {name: shaped(rows, np.int32) for name, rows in (permutations or still).items()},
            {s.name: shaped((signs or {}).get(s.name, np.ones((n, s.size))), np.int8) for s in group.signs},
            {
                s.name: shaped((log_scales or {}).get(s.name, np.zeros((n, s.size))), np.float32)
                for s in group.scales
            },
        )

    def moved(self, elements: Element) -> Draws | dict[str, Any]:
        """The draws after one element each: in memory if they are, else moved when they are read."""
        # In NumPy, where slicing costs next to nothing.
        elements = jax.tree.map(np.asarray, elements)
        chained = elements if self.tree is None else trees.index(elements, None)
        segments: list[Segment] = []
        start = 0
        for segment in self.draws.segments:
            here = trees.index(chained, (slice(None), slice(start, start + segment.draws)))
            moved = MovedSegment(segment, self.group, here)
            segments.append(MemorySegment.of(moved) if isinstance(segment, MemorySegment) else moved)
            start += segment.draws
        found = Draws(segments)
        if self.tree is None:
            return found
        return trees.like(self.tree, {name: leaf[0] for name, leaf in trees.flatten(found.variables).items()})


class Elements:
    """One element per draw, by the draw's number."""

    def __init__(self, stack: Stack, batch: Element | None = None):
        """Those of a batch with the draws' leading axes, or the identity for each."""
        batch = stack.elements() if batch is None else batch
        n = len(stack.lead)
        self.stack = stack
        self.parts = [
            {name: np.array(leaf).reshape(-1, *leaf.shape[n:]) for name, leaf in part.items()}
            for part in (batch.permutations, batch.signs, batch.log_scales)
        ]

    def __getitem__(self, number: int) -> Element:
        return Element(*({name: leaf[number] for name, leaf in part.items()} for part in self.parts))

    def __setitem__(self, number: int, element: Element) -> None:
        for part, new in zip(
            self.parts, (element.permutations, element.signs, element.log_scales), strict=True
        ):
            for name, leaf in part.items():
                leaf[number] = new[name]

    def copy(self) -> Elements:
        found = copy(self)
        found.parts = [{name: leaf.copy() for name, leaf in part.items()} for part in self.parts]
        return found

    def batch(self) -> Element:
        """All of them, with the draws' leading axes."""
        return self.stack.elements(*self.parts)


@dataclass(frozen=True)
class MovedSegment(DerivedSegment):
    """A segment of draws that moves what it reads by one element per draw."""

    group: Symmetry
    elements: Element

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        path = name.removeprefix(f"{VARIABLES}/")
        if path == name or not self.group.sites[path]:
            return self.segment.read(name, draws, rows)
        array = self.segment.read(name, draws)
        here = jax.tree.map(lambda leaf: leaf[:, draws].reshape(-1, *leaf.shape[2:]), self.elements)
        moved = self.group.act_each(path, here, array.reshape(-1, *array.shape[2:]))
        moved = moved.reshape(array.shape)
        # A view of some rows would keep all of them in memory.
        return moved if moved.ndim == 2 else moved[:, :, rows].copy()
