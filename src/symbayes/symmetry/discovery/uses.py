"""Which cells of the parameters a program uses.

A program may read part of a parameter only: the first rows of a table of positions, some gates of a fused
kernel.  Walking it backwards from its outputs, cell by cell, shows what it leaves alone.  That is given no
freedom of its own, although this program would not notice: another input may use it.  What acts on all cells
beside it acts on it too, so that a longer text finds its positions moved with the others.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from symbayes.symmetry.discovery.cells import Cells, Usage, Usages
from symbayes.symmetry.discovery.effects import Cell, Unknown, alternatives
from symbayes.symmetry.discovery.generators import Generator
from symbayes.symmetry.program.axes import pin
from symbayes.symmetry.program.program import Carry, Concat, Link, Loop, Program, Reshape, Slice, Value


class Uses(Cells):
    """Walks a program backwards; `live` has the cells of each value that an output depends on."""

    def __init__(self, program: Program):
        super().__init__()
        self.live: dict[int, set[Cell]] = {id(value): set(self.cells(value)) for value in program.outputs}
        before = -1
        while (count := sum(map(len, self.live.values()))) != before:  # more than once only around loops
            before = count
            for step in reversed(program.steps):
                self.step(step)

    def step(self, step: Any) -> None:
        live = self.live.get(id(step.out), set())
        for value, cells in self.sources(step, live):
            self.live.setdefault(id(value), set()).update(cells)

    def sources(self, step: Any, live: set[Cell]) -> Iterator[tuple[Value, Iterable[Cell]]]:
        """The operands of a step, with the cells that these cells of its result are made from."""
        match step:
            case Link():
                keys = [*step.out_labels, *step.out.loops]
                for value, labels in zip(step.ins, step.in_labels, strict=True):
                    names = dict(zip(self.layout(value), [*labels, *value.loops], strict=True))
                    yield value, self.matching(value, names, (dict(zip(keys, c, strict=True)) for c in live))
            case Reshape():
                yield step.source, self.reshaped(step, live)
            case Concat():
                yield from self.parts(step, live)
            case Slice():
                offsets, mixed = self.sliced(step)
                names = {key: None if key in mixed else key for key in self.layout(step.source)}
                moved = ({k: n + offsets.get(k, 0) for k, n in self.named(step.out, c)} for c in live)
                yield step.source, self.matching(step.source, names, moved)
            case Carry():
                names = {key: key for key in self.layout(step.source)}
                found = (dict(self.named(step.out, cell)) for cell in live)
                yield step.source, self.matching(step.source, names, found)

    def named(self, value: Value, cell: Cell) -> Iterable[tuple[Any, int]]:
        return zip(self.layout(value), cell, strict=True)

    def matching(self, value: Value, names: Mapping[Any, Any], choices: Iterable[dict]) -> set[Cell]:
        """The cells that agree with one of the choices on every axis that it names."""
        found: set[Cell] = set()
        layout = self.layout(value)
        for choice in choices:
            ranges = [
                (choice[names[key]],) if len(parts) > 1 and names[key] in choice else range(len(parts))
                for key, parts in layout.items()
            ]
            found.update(itertools.product(*ranges))
        return found

    def parts(self, step: Concat, live: set[Cell]) -> Iterator[tuple[Value, Iterable[Cell]]]:
        offset = 0
        for value, term in zip(step.ins, step.terms, strict=True):
            width = len(alternatives(term))
            inside = [cell for cell in live if offset <= cell[step.axis] < offset + width]
            names = {key: key for key in self.layout(value)}
            moved = (dict(self.named(step.out, c)) | {step.axis: c[step.axis] - offset} for c in inside)
            yield value, self.matching(value, names, moved)
            offset += width

    def reshaped(self, step: Reshape, live: set[Cell]) -> Iterator[Cell]:
        loops = [key for key in self.layout(step.source) if isinstance(key, Loop)]
        wanted = [dict(self.named(step.out, cell)) for cell in live]
        for picks in itertools.product(*(self.block(step, *block) for block in step.blocks)):
            source = {k: n for pick in picks for k, n in pick[0].items()}
            target = {k: n for pick in picks for k, n in pick[1].items()}
            for choice in wanted:
                if all(choice[k] == n for k, n in target.items()):
                    yield (*(source[k] for k in range(len(step.source.shape))), *(choice[k] for k in loops))


def usages(program: Program) -> dict[str, Usage]:
    """The parameters that the program uses in part; atoms of unused cells only are pinned."""
    cells = Cells()
    values = {path: value for path, value in program.parameters.items() if program.uses(path)}
    if not any(len(parts) > 1 for value in values.values() for parts in cells.layout(value).values()):
        return {}
    live = Uses(program).live
    found: dict[str, Usage] = {}
    for path, value in values.items():
        every = frozenset(cells.cells(value))
        found[path] = Usage(every & live.get(id(value), set()), every - live.get(id(value), set()))
    moving = {
        atom
        for path, value in values.items()
        for cell in found[path].used
        for atom in cells.atoms(value, cell)
    }
    for path, value in values.items():
        for atom in {atom for cell in found[path].idle for atom in cells.atoms(value, cell)} - moving:
            pin(atom, "the program does not use this part")
    return {path: usage for path, usage in found.items() if usage.idle}


def completed(generator: Generator, partly: Usages) -> Generator:
    """The generator, acting on unused cells as it does on all the cells beside them along an axis."""
    exponents = dict(generator.exponents)
    for path, usage in partly.items():
        effects = {unknown.effect for unknown in exponents if unknown.path == path}
        done = set(usage.used)
        while reached := {c: axis for c in usage.idle - done if (axis := _beside(c, done)) is not None}:
            for cell, axis in reached.items():
                beside = [other for other in done if _differ(other, cell) == [axis]]
                for effect in effects:
                    found = {exponents.get(Unknown(path, other, effect), 0) for other in beside}
                    if len(found) == 1 and found != {0} and all(k != axis for k, _ in effect):
                        exponents[Unknown(path, cell, effect)] = found.pop()
            done |= reached.keys()
    return dataclasses.replace(generator, exponents=exponents)


def _beside(cell: Cell, others: set[Cell]) -> int | None:
    """The first axis along which another cell is the neighbour of this one."""
    return min((axes[0] for other in others if len(axes := _differ(other, cell)) == 1), default=None)


def _differ(a: Cell, b: Cell) -> list[int]:
    return [k for k, (i, j) in enumerate(zip(a, b, strict=True)) if i != j]
