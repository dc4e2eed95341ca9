"""Draws of several runs as one: more chains, or longer ones; and of the groups of chains of one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from symbayes.draws import files
from symbayes.draws.draws import STATISTICS, VARIABLES, Draws, Segment, read_segment
from symbayes.draws.forward import together
from symbayes.specs import require

Along = Literal["chain", "draw"]
MODE = f"{STATISTICS}/mode"


@dataclass(frozen=True)
class Side:
    """The chains of one run among others, with their modes counted on."""

    draws: Draws
    modes: int

    def read(self, name: str, part: slice, rows: slice) -> np.ndarray:
        """Part of one array, from whichever segments hold it."""
        pieces, begin = [], 0
        for segment in self.draws.segments:
            low, high = max(part.start - begin, 0), min(part.stop - begin, segment.draws)
            if low < high:
                pieces.append(segment.read(name, slice(low, high), rows))
            begin += segment.draws
        read = pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)
        return read + self.modes if name == MODE else read


@dataclass(frozen=True)
class SideBySide:
    """Chains of several runs, or of groups within one, read when asked for; `names` are those of the arrays
    that are taken, None for all."""

    sides: tuple[Side, ...]
    names: frozenset[str] | None
    draws: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        chains = sum(side.draws.chains for side in self.sides)
        first = self.sides[0].draws.segments[0].shapes()
        taken = first if self.names is None else first.keys() & self.names
        return {name: (chains, self.draws, *shape[2:]) for name, shape in first.items() if name in taken}

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        start, stop, _ = draws.indices(self.draws)
        return np.concatenate([side.read(name, slice(start, stop), rows) for side in self.sides], axis=0)


@dataclass(frozen=True)
class Some:
    """Some arrays of another segment."""

    segment: Segment
    names: frozenset[str]

    @property
    def draws(self) -> int:
        return self.segment.draws

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: shape for name, shape in self.segment.shapes().items() if name in self.names}

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        return self.segment.read(name, draws, rows)


def joined(parts: Sequence[Draws], along: Along = "chain") -> Draws:
    """All chains of some runs side by side, or the draws of equally many chains one after the other.

    Nothing is read yet.  Statistics that only some of them have are left out; chains of different runs have
    different modes.
    """
    require(len(parts) > 0, "to join takes at least one run")
    require(all(part.segments for part in parts), "a run without draws cannot be joined")
    first = parts[0]
    for part in parts[1:]:
        require(
            part.shapes == first.shapes,
            f"these are draws of different networks: {_difference(first.shapes, part.shapes)}",
        )
    names = frozenset.intersection(*(frozenset(part.segments[0].shapes()) for part in parts))
    forward = together([part.forward for part in parts], chains=along == "chain")
    if along == "draw":
        counts = sorted({part.chains for part in parts})
        require(len(counts) == 1, f"one after the other, runs have equally many chains, not {counts}")
        segments = [Some(segment, names) for part in parts for segment in part.segments]
        return Draws(segments, forward=forward)
    lengths = sorted({len(part) for part in parts})
    require(
        len(lengths) == 1,
        f"side by side, chains have equally many draws, not {lengths}: cut the longer ones with "
        f"select(draws=slice({lengths[0]}))",
    )
    sides, modes = [], 0
    for part in parts:
        sides.append(Side(part, modes))
        if MODE in names:
            modes += int(part.stats["mode"].max()) + 1
    return Draws([SideBySide(tuple(sides), names, len(first))], forward=forward)


def side_by_side(groups: Sequence[Sequence[Segment]]) -> list[Segment]:
    """The segments of a run whose chains were worked on in groups, which have the same blocks.

    Nothing is read yet, and modes are those of the run.
    """
    if len(groups) < 2:
        return [segment for group in groups for segment in group]
    return [
        SideBySide(tuple(Side(Draws([segment]), 0) for segment in block), None, block[0].draws)
        for block in zip(*groups, strict=True)
    ]


def pieces(segment: Segment) -> list[Segment]:
    """A segment, or those of all its sides."""
    if not isinstance(segment, SideBySide):
        return [segment]
    return [piece for side in segment.sides for each in side.draws.segments for piece in pieces(each)]


def concatenated(parts: Iterable[Mapping[str, np.ndarray]], axis: int) -> dict[str, np.ndarray]:
    """Arrays of the same name one after the other."""
    listed: dict[str, list[np.ndarray]] = {}
    for part in parts:
        for name, array in part.items():
            listed.setdefault(name, []).append(array)
    return {
        name: arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=axis)
        for name, arrays in sorted(listed.items())
    }


def repeated(parts: Sequence[Draws]) -> tuple[int, int] | None:
    """The places of two parts that hold the same draws, if there are such.

    Only the first draw of each is read, and where these agree the others as far as they do.
    """
    begun: dict[str, list[int]] = {}
    for place, part in enumerate(parts):
        arrays = _first(part)
        key = files.sha256(*(arrays[name].tobytes() for name in sorted(arrays) if name.startswith(VARIABLES)))
        for earlier in begun.setdefault(key, []):
            if _same(parts[earlier], part):
                return earlier, place
        begun[key].append(place)
    return None


def _first(draws: Draws) -> dict[str, np.ndarray]:
    """The first draw of every chain."""
    return read_segment(draws.segments[0], slice(1))


def _same(one: Draws, other: Draws) -> bool:
    """Whether these hold the same numbers in all variables, and in the statistics that both have."""
    if (one.shapes, one.chains, len(one)) != (other.shapes, other.chains, len(other)):
        return False
    for first, second in zip(map(_first, one.blocks(1)), map(_first, other.blocks(1)), strict=True):
        if not all(np.array_equal(first[name], second[name]) for name in first.keys() & second.keys()):
            return False
    return True


def _difference(first: dict[str, Any], second: dict[str, Any]) -> str:
    for name in {**first, **second}:
        if first.get(name) != second.get(name):
            words = [str(shapes.get(name, "missing")) for shapes in (first, second)]
            return f"{VARIABLES}/{name} is {words[0]} here and {words[1]} there"
    return "their names are in another order"
