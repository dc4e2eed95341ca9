"""Work cut into blocks of bounded size.

A method's work is `units` of `steps` steps each: trajectories of leapfrog steps, epochs of
optimiser steps.  A block holds several whole units where they are short, and a piece of one unit
where it is long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from symbayes import trees
from symbayes.networks.counting import gradient_operations
from symbayes.networks.traced import traced
from symbayes.posterior import Posterior

CPU_SPEED, CPU_SMALLEST_STEP = 3e10, 1.5e7
DEVICE_SPEED, DEVICE_SMALLEST_STEP = 1e14, 5e9
"""Operations per second, and what the smallest step costs in them, on a few cores and on an accelerator."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Work:
    """What one block does: piece number `piece` out of `pieces` of `count` units from `first` on.

    Whole numbers, or for a compiled program arrays of them, so that other blocks compile nothing.
    """

    first: Any
    count: Any
    piece: Any
    pieces: Any

    @property
    def ends(self) -> Any:
        """Whether the units are complete after this."""
        return self.piece == self.pieces - 1

    def span(self, steps: Any) -> tuple[Any, Any]:
        """Which of a unit's steps the piece has: from the first number up to the second."""
        return steps * self.piece // self.pieces, steps * (self.piece + 1) // self.pieces

    def arrays(self) -> Work:
        return jax.tree.map(np.int32, self)


@dataclass(frozen=True)
class Plan:
    """`units` of `steps` steps, in blocks of about `block_steps` steps and at most `slots` units."""

    units: int
    steps: int
    block_steps: int
    slots: int

    @property
    def units_per_block(self) -> int:
        return min(self.slots, max(1, self.block_steps // self.steps))

    @property
    def pieces(self) -> int:
        """Blocks per unit, where a unit is longer than a block."""
        return max(1, math.ceil(self.steps / self.block_steps))

    @property
    def blocks(self) -> int:
        return math.ceil(self.units / self.units_per_block) * self.pieces

    def work(self, block: int) -> Work:
        group, piece = divmod(block, self.pieces)
        first = group * self.units_per_block
        return Work(first, min(self.units_per_block, self.units - first), piece, self.pieces)


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
    """Draws that a block has room for: at most 64 of each chain, and 16 MB.

    It depends on the network alone, so that no hyper-parameter changes the shape of a block.
    """
    variables, _ = traced(posterior.network, *_example(posterior))
    return max(1, min(64, int(16e6 / (4.0 * trees.size(variables) * chains))))


def _example(posterior: Posterior) -> tuple[tuple[int, ...], Any]:
    """Shape and type of one input."""
    return posterior.chunks.x.shape[2:], posterior.chunks.x.dtype
