"""Draws: variables with leading (chain, draw) axes, in memory or on disk, and per-draw statistics.

Larger than memory is normal, so draws are a list of segments (the shards of a run, or one array
in memory) that are read when walked: `blocks` walks over draws, `columns` over weights.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from symbayes import trees
from symbayes.brief import briefly, counted, html_table
from symbayes.draws import export
from symbayes.draws.forward import PLAIN, Forward
from symbayes.specs import Recorded, require
from symbayes.trees import Tree

STATISTICS = export.STATISTICS
VARIABLES = "variables"


@runtime_checkable
class Segment(Protocol):
    """Some consecutive draws of all chains."""

    @property
    def draws(self) -> int: ...

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The arrays' shapes by name, (chain, draw) first."""
        ...

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        """Part of one array; `rows` cuts its first axis after (chain, draw)."""
        ...


@briefly
@dataclass(frozen=True)
class MemorySegment:
    """Draws that are held in memory."""

    arrays: Mapping[str, np.ndarray]
    draws: int

    @classmethod
    def of(cls, segment: Segment) -> MemorySegment:
        """All of another segment, read."""
        return cls(read_segment(segment), segment.draws)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: array.shape for name, array in self.arrays.items()}

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        array = self.arrays[name][:, draws]
        return array if array.ndim == 2 else array[:, :, rows]


@dataclass(frozen=True)
class DerivedSegment(abc.ABC):
    """Draws made from those of another segment when they are read: as many, of the same shapes."""

    segment: Segment

    @property
    def draws(self) -> int:
        return self.segment.draws

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self.segment.shapes()

    @abc.abstractmethod
    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray: ...


def read_segment(segment: Segment, draws: slice = slice(None)) -> dict[str, np.ndarray]:
    """Every array of a segment, or of some of its draws."""
    return {name: segment.read(name, draws) for name in segment.shapes()}


Index = slice | int | np.integer | Sequence[int | np.integer] | np.ndarray
"""Which chains or draws: what NumPy takes as an index."""


def _places(count: int, index: Index) -> np.ndarray:
    """The numbers below `count` that an index chooses."""
    places = np.arange(count)
    if isinstance(index, slice):
        return places[index]
    chosen = np.asarray(index)
    return np.atleast_1d(places[chosen if chosen.size else chosen.astype(int)])


def named_arrays(variables: Any, stats: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Variables and statistics by the names that a shard has for them."""
    flat = {f"{VARIABLES}/{name}": np.asarray(leaf) for name, leaf in trees.flatten(variables).items()}
    return flat | {f"{STATISTICS}/{name}": np.asarray(value) for name, value in stats.items()}


@briefly
@dataclass(frozen=True, eq=False)
class Origin:
    """What made draws that are in memory.

    Attributes:
        config: what a stored run writes into ``config.json``.
        posterior: what was drawn from.
        traces: statistics of every unit of the run, draws or not, each (chain, unit).
        distribution: what the method fitted, if anything.
        found: what the chains had in common when the run ended, by name; another run can take it over.
    """

    config: Recorded
    posterior: Any
    traces: Mapping[str, np.ndarray] = field(default_factory=dict)
    distribution: Any = None
    found: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Draws:
    """Draws of a posterior; see `variables`, `stats`, `blocks` and `columns`.

    `observed` has the results of observers, `path` is the folder of the run, `origin` the run that made the
    draws, and `forward` how they predict.
    """

    segments: Sequence[Segment]
    observed: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    path: Path | None = None
    origin: Origin | None = None
    forward: Forward = PLAIN

    @classmethod
    def from_variables(cls, variables: Tree, stats: Mapping[str, ArrayLike] | None = None) -> Draws:
        """Draws in memory from a tree with leading axes (chain, draw)."""
        return cls.from_arrays(named_arrays(variables, stats or {}))

    @classmethod
    def from_arrays(cls, flat: Mapping[str, np.ndarray]) -> Draws:
        """Draws in memory from named arrays, as a shard holds them."""
        leading = {array.shape[:2] for array in flat.values()}
        require(
            len(leading) == 1 and len(next(iter(leading))) == 2,
            f"all arrays of draws start with the same (chain, draw) axes, not {sorted(leading)}",
        )
        return cls([MemorySegment(flat, next(iter(leading))[1])])

    @property
    def chains(self) -> int:
        return next(iter(self._shapes().values()))[0]

    def __len__(self) -> int:
        """Draws per chain."""
        return sum(segment.draws for segment in self.segments)

    def __repr__(self) -> str:
        where = f", in {self.path}" if self.path else ""
        if not self.segments:
            return f"Draws(none{where})"
        weights = sum(int(np.prod(shape)) for shape in self.shapes.values())
        chains, draws = counted(self.chains, "chain"), counted(len(self), "draw")
        return f"Draws({chains} x {draws} of {counted(weights, 'number')}{where})"

    def _repr_html_(self) -> str:
        if not self.segments:
            return html_table([["draws", "none"]])
        rows = [[name, str(shape), f"{math.prod(shape):,}"] for name, shape in self.shapes.items()]
        statistics = ", ".join(self._named(STATISTICS, self._shapes())) or "none"
        return html_table(rows, ["variable", "shape", "numbers"], f"{self!r}. Statistics: {statistics}.")

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every variable of one draw, by name."""
        return {name: shape[2:] for name, shape in self._named(VARIABLES, self._shapes()).items()}

    @property
    def floats(self) -> int:
        """How many numbers the variables take: an array that all draws share counts once per chain."""
        each = [math.prod(s) * (1 if self._is_steady(name) else len(self)) for name, s in self.shapes.items()]
        return self.chains * sum(each)

    @property
    def variables(self) -> dict[str, Tree]:
        """All draws in memory as one tree with leading axes (chain, draw)."""
        return trees.variables({name: self._read_all(name, slice(None)) for name in self.shapes})

    @property
    def stats(self) -> dict[str, np.ndarray]:
        """Per-draw statistics, each (chain, draw, ...)."""
        return {
            name: np.concatenate([s.read(f"{STATISTICS}/{name}", slice(None)) for s in self.segments], axis=1)
            for name in self._named(STATISTICS, self._shapes())
        }

    def blocks(self, size: int) -> Iterator[Draws]:
        """Iterate over the draws, at most `size` of each chain at a time, in memory."""
        require(size > 0, f"a block holds at least one draw, not {size}")
        for segment in self.segments:
            for start in range(0, segment.draws, size):
                part = slice(start, min(start + size, segment.draws))
                block = MemorySegment(read_segment(segment, part), part.stop - part.start)
                yield Draws([block], forward=self.forward)

    def draws_within(self, max_bytes: int) -> int:
        """How many draws of every chain take so many bytes, of weights in float32; at least one."""
        each = 4 * self.chains * sum(int(np.prod(shape)) for shape in self.shapes.values())
        return max(1, max_bytes // max(1, each))

    def columns(self, max_bytes: int = 2**28) -> Iterator[tuple[str, slice, np.ndarray]]:
        """Iterate over the weights: all draws of some rows of one variable at a time.

        Yields the variable's name, the rows of its first axis, and the array (chain, draw, rows, ...).
        """
        for name, shape in self.shapes.items():
            total = self.chains * len(self) * int(np.prod(shape)) * 4
            rows = shape[0] if shape else 1
            step = max(1, rows // max(1, -(-total // max_bytes)))
            for start in range(0, rows, step):
                part = slice(start, min(start + step, rows))
                yield name, part, self._read_all(name, part)

    def thin(self, every: int) -> Draws:
        """Every `every`-th draw of each chain, in memory."""
        require(every > 0, f"thinning keeps every n-th draw with n >= 1, not {every}")
        return self.select(draws=np.arange(0, len(self), every))

    def select(self, chains: Index = slice(None), draws: Index = slice(None)) -> Draws:
        """Some chains and draws (slices or index arrays), in memory."""
        rows, pick = _places(self.chains, chains), _places(len(self), draws)
        require(rows.size > 0, f"no chain is left: this selects none of {self.chains} chains")
        require(pick.size > 0, f"no draw is left: this selects none of {len(self)} draws per chain")
        ends = np.cumsum([segment.draws for segment in self.segments])
        owners = np.searchsorted(ends, pick, side="right")
        parts = []
        # One part for each stretch of draws from the same segment, so that the order is the one asked for.
        for stretch in np.split(np.arange(len(pick)), np.flatnonzero(np.diff(owners)) + 1):
            owner = int(owners[stretch[0]])
            segment = self.segments[owner]
            here = pick[stretch] - (ends[owner] - segment.draws)
            span = slice(int(here.min()), int(here.max()) + 1)
            wanted = np.ix_(rows, here - span.start)
            arrays = {name: segment.read(name, span)[wanted] for name in segment.shapes()}
            parts.append(MemorySegment(arrays, len(here)))
        return Draws(parts, forward=self.forward.of_chains(rows))

    def to_arviz(self) -> Any:
        """For ArviZ: a DataTree (InferenceData, for versions below 1.0) with parameters and statistics.

        ``symbayes.open(draws).to_arviz()`` also has the log likelihood, data and predictions.
        """
        return export.to_arviz(self)

    def save(self, path: str | Path) -> None:
        """One safetensors file with every variable and statistic as (chain, draw, ...), named by path."""
        export.save_safetensors(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Draws:
        """What `save` wrote, in memory."""
        variables, statistics, forward = export.load_safetensors(Path(path))
        draws = cls.from_variables(trees.variables(variables), statistics)
        return dataclasses.replace(draws, forward=forward)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        require(bool(self.segments), "there are no draws here: the run kept none, or has not got that far")
        return self.segments[0].shapes()

    @staticmethod
    def _named(kind: str, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        found = {
            name[len(kind) + 1 :]: shape for name, shape in shapes.items() if name.startswith(kind + "/")
        }
        return dict(sorted(found.items(), key=lambda item: trees.path_key(item[0])))

    def _is_steady(self, name: str) -> bool:
        """Whether a variable is the same in all draws of every chain."""
        first = self.segments[0].read(f"{VARIABLES}/{name}", slice(1))
        parts = (segment.read(f"{VARIABLES}/{name}", slice(None)) for segment in self.segments)
        return all(bool((part == first).all()) for part in parts)

    def _read_all(self, name: str, rows: slice) -> np.ndarray:
        parts = [segment.read(f"{VARIABLES}/{name}", slice(None), rows) for segment in self.segments]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
