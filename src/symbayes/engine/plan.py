"""Work cut into blocks of bounded size.

A method's work is `units` of `steps` steps each: trajectories of leapfrog steps, epochs of
optimiser steps.  A block holds several whole units where they are short, and a piece of one unit
where it is long.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import jax

from symbayes import trees
from symbayes.engine.operations import gradient_operations
from symbayes.networks import Network
from symbayes.posterior import Posterior

CPU_SPEED, CPU_SMALLEST_STEP = 3e10, 1.5e7
DEVICE_SPEED, DEVICE_SMALLEST_STEP = 1e14, 5e9
"""Operations per second, and what the smallest step costs in them, on a few cores and on an accelerator."""


@dataclass(frozen=True)
class Work:
    """What one block does: piece number `piece` of `count` units from `first` on."""

    first: int
    count: int
    piece: int


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
        return Work(first, min(self.units_per_block, self.units - first), piece)


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
    weights = _count(posterior.network, *_example(posterior))
    return max(1, min(64, int(16e6 / (4.0 * weights * chains))))


def _example(posterior: Posterior) -> tuple[tuple[int, ...], Any]:
    """Shape and type of one input."""
    return posterior.chunks.x.shape[2:], posterior.chunks.x.dtype


@functools.lru_cache
def _count(network: Network, example_shape: tuple[int, ...], dtype: Any) -> int:
    example = jax.ShapeDtypeStruct((1, *example_shape), dtype)
    return trees.size(jax.eval_shape(network.init, jax.random.key(0), example))
