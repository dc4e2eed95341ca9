"""The null control: as many draws of pure noise as there are draws.

Alignment shrinks the spread and lifts the mean of anything, noise included.  What it does to the control is
no evidence of a shared structure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from symbayes import trees
from symbayes.draws import Draws
from symbayes.draws.draws import VARIABLES, DerivedSegment, MemorySegment, Segment
from symbayes.symmetry.group.stack import BLOCK_BYTES, Stack

Sample = Callable[[jax.Array], trees.Tree]
"""From a key to the parameters of one network."""
Leaf = Callable[[str, int, int], np.ndarray]
"""One parameter, by name, of the draw with this chain and number."""


def null_draws(stack: Stack, sample: Sample | None = None, seed: int = 0) -> Draws | dict[str, Any]:
    """Noise in the place of every parameter; running and per-draw statistics stay those of the draws.

    Without `sample` it is ``N(0, rms^2)`` with the root mean square of each parameter over all draws and
    entries, else what `sample` gives for a key.  Drawn when it is read, unless the draws are in memory.
    """
    names = [name for name in stack.draws.shapes if not name.startswith("stats/")]
    leaf = _normal(stack, names, seed) if sample is None else _sampled(stack, names, sample, seed)
    segments: list[Segment] = []
    start = 0
    for segment in stack.draws.segments:
        null = NullSegment(segment, start, frozenset(names), leaf)
        segments.append(MemorySegment.of(null) if isinstance(segment, MemorySegment) else null)
        start += segment.draws
    draws = Draws(segments)
    return draws if stack.tree is None else trees.index(draws.variables, 0)


@dataclass(frozen=True)
class NullSegment(DerivedSegment):
    """A segment of draws with noise in the place of its parameters."""

    start: int
    names: frozenset[str]
    leaf: Leaf

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        path = name.removeprefix(f"{VARIABLES}/")
        if path == name or path not in self.names:
            return self.segment.read(name, draws, rows)
        numbers = range(self.start, self.start + self.draws)[draws]
        chains, _, *shape = self.shapes()[name]
        if shape:
            shape[0] = len(range(shape[0])[rows])
        array = np.empty((chains, len(numbers), *shape), np.float32)
        for chain in range(chains):
            for k, number in enumerate(numbers):
                leaf = self.leaf(path, chain, number)
                array[chain, k] = leaf[rows] if shape else leaf
        return array


def _normal(stack: Stack, names: list[str], seed: int) -> Leaf:
    squares = dict.fromkeys(names, 0.0)
    for _, flat in stack.blocks():
        for name in names:
            squares[name] += float(np.sum(np.square(flat[name], dtype=np.float64)))
    shapes = stack.draws.shapes
    sizes = {name: max(1, stack.count * int(np.prod(shapes[name]))) for name in names}
    rms = {name: np.float32(np.sqrt(squares[name] / sizes[name])) for name in names}
    numbers = {name: number for number, name in enumerate(names)}

    def leaf(name: str, chain: int, draw: int) -> np.ndarray:
        # A generator for each, so that neither blocks nor the order of reading change a draw.
        rng = np.random.default_rng((seed, numbers[name], chain, draw))
        return rms[name] * rng.standard_normal(shapes[name], np.float32)

    return leaf


def _sampled(stack: Stack, names: list[str], sample: Sample, seed: int) -> Leaf:
    shapes = {name: stack.draws.shapes[name] for name in names}
    bytes_each = 4 * sum(int(np.prod(shape)) for shape in shapes.values())
    key = jax.random.key(seed)

    # A block is read parameter by parameter: its draws are kept until the next block.
    @lru_cache(maxsize=max(1, BLOCK_BYTES // max(1, bytes_each)))
    def network(chain: int, draw: int) -> Mapping[str, np.ndarray]:
        return _checked(sample(jax.random.fold_in(jax.random.fold_in(key, chain), draw)), shapes)

    return lambda name, chain, draw: network(chain, draw)[name]


def _checked(tree: trees.Tree, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """The parameters of a sampled network by name, whole variables or ``params`` alone."""
    flat = trees.flatten(tree)
    found = {}
    for name, shape in shapes.items():
        leaf = flat.get(name, flat.get(name.removeprefix("params/")))
        if leaf is None:
            raise ValueError(f"the control gives no parameter {name!r}: it returns one network's parameters")
        if np.shape(leaf) != shape:
            raise ValueError(f"the control gives the parameter {name!r} shape {np.shape(leaf)}, not {shape}")
        found[name] = np.asarray(leaf, np.float32)
    return found
