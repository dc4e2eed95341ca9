"""Work cut into blocks of bounded size.

A block holds several whole units where they are short, and a piece of one unit where it is long.  How a phase
is cut is decided once, when it begins, and kept with the run: it changes no draw, but files are then the same
however often a run is stopped.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.engine.phase import Phase
from symbayes.networks.counting import gradient_operations
from symbayes.networks.traced import traced
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree

CPU_SPEED, CPU_SMALLEST_STEP = 3e10, 1.5e7
DEVICE_SPEED, DEVICE_SMALLEST_STEP = 1e14, 5e9
"""Operations per second, and what the smallest step costs in them, on a few cores and on an accelerator."""

UNITS = 64
"""Units that a block has room for."""

DRAWS, DRAW_BYTES = 64, 16e6
"""Draws of each chain that a block has room for, and bytes of those of all chains."""


@pytree
@dataclass(frozen=True)
class Work:
    """What one block does: piece number `piece` out of `pieces` of `count` units from `first` on.

    Arrays of whole numbers, so that other blocks compile nothing.  `before` counts the units of earlier
    phases, and `chain` the chains of earlier groups.  Unit i of the block ends in a draw where ``kept[i]``,
    which goes to slot ``places[i]``.
    """

    first: Any
    count: Any
    piece: Any
    pieces: Any
    before: Any
    chain: Any
    kept: Any
    places: Any

    @property
    def begins(self) -> Any:
        """Whether the units begin here."""
        return self.piece == 0

    @property
    def ends(self) -> Any:
        """Whether the units are complete after this."""
        return self.piece == self.pieces - 1

    def span(self, steps: Any) -> tuple[Any, Any]:
        """Which of a unit's steps the piece has: from the first number up to the second."""
        each, rest = steps // self.pieces, steps % self.pieces
        begin = self.piece * each + jnp.minimum(self.piece, rest)
        return begin, begin + each + (self.piece < rest)


@dataclass(frozen=True)
class Cursor:
    """How far a run is: in which phase, how many of its units are complete, and pieces of the next one;
    how many draws there are of each chain; and all this in which group of chains."""

    phase: int = 0
    unit: int = 0
    piece: int = 0
    drawn: int = 0
    group: int = 0

    @classmethod
    def read(cls, recorded: Mapping[str, int]) -> Cursor:
        return cls(**recorded)

    def record(self) -> dict[str, int]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Plan:
    """How a phase is cut: at most `units` of them in a block, or a unit in `pieces`.

    `steps` is how long a unit is when the phase begins.
    """

    steps: int
    units: int
    pieces: int

    @classmethod
    def of(cls, steps: int, block_steps: int) -> Plan:
        """For units of so many steps, in blocks of about `block_steps`."""
        steps = max(1, steps)
        return cls(steps, min(UNITS, max(1, block_steps // steps)), max(1, math.ceil(steps / block_steps)))

    @property
    def whole(self) -> bool:
        """Whether no unit is cut."""
        return self.pieces == 1

    def next(self, cursor: Cursor, phase: Phase, slots: int) -> tuple[list[int], Cursor]:
        """What the next block does: the units that it completes or works on, and where the run is then."""
        kept = 0
        units: list[int] = []
        for unit in range(cursor.unit, min(cursor.unit + self.units, phase.units)):
            kept += phase.kept(unit)
            if kept > slots:
                break
            units.append(unit)
        if cursor.piece < self.pieces - 1:
            return units, dataclasses.replace(cursor, piece=cursor.piece + 1)
        drawn = cursor.drawn + sum(phase.kept(unit) for unit in units)
        return units, dataclasses.replace(cursor, unit=cursor.unit + len(units), piece=0, drawn=drawn)

    def work(
        self, cursor: Cursor, units: list[int], phase: Phase, before: int, slots: int, chain: int = 0
    ) -> Work:
        """The same as arrays for the compiled program."""
        ends = cursor.piece == self.pieces - 1
        kept = np.zeros(UNITS, bool)
        kept[: len(units)] = [ends and phase.kept(unit) for unit in units]
        places = np.where(kept, np.cumsum(kept) - 1, slots).astype(np.int32)
        return Work(
            first=np.int32(cursor.unit),
            count=np.int32(len(units)),
            piece=np.int32(cursor.piece),
            pieces=np.int32(self.pieces),
            before=np.int32(before),
            chain=np.int32(chain),
            kept=kept,
            places=places,
        )


def steps_per_block(posterior: Posterior, chains: int, examples_per_step: int) -> int:
    """Steps that make a block of about a second, from a count of operations.

    A step of a tiny network costs as much as some smallest number of them.
    """
    on_cpu = jax.default_backend() == "cpu"
    speed, smallest = (CPU_SPEED, CPU_SMALLEST_STEP) if on_cpu else (DEVICE_SPEED, DEVICE_SMALLEST_STEP)
    each = gradient_operations(posterior.network, *_example(posterior))
    operations = each * examples_per_step * chains
    return max(1, int(speed / max(operations, smallest)))


def draw_slots(posterior: Posterior, chains: int) -> int:
    """Draws of each chain that a block has room for.

    It depends on the network alone, so that no hyper-parameter changes the shape of a block.
    """
    variables, _ = traced(posterior.network, *_example(posterior))
    return max(1, min(DRAWS, int(DRAW_BYTES / (4.0 * trees.size(variables) * chains))))


def _example(posterior: Posterior) -> tuple[tuple[int, ...], Any]:
    """Shape and type of one input."""
    return posterior.chunks.x.shape[2:], posterior.chunks.x.dtype
