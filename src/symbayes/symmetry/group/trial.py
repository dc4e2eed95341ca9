"""Trying a group on its program in float64: does the function stay the same?

One element at one network and one input is no proof: where a program compares or picks, a small change may
decide nothing there.  So a group is tried at several points, each with its own network, input and element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.program.evaluation import Evaluation, difference, double

SPREADS = (0.5, 1.5, 3.0)
"""Standard deviations of the log-scales that are tried, in turn."""


@dataclass(frozen=True)
class Point:
    """A network and an input at which a group is tried, and the outputs there."""

    flat: dict[str, Any]
    inputs: tuple[Any, ...]
    outputs: list[np.ndarray]

    @cached_property
    def size(self) -> float:
        """The largest output."""
        return max(float(np.max(np.abs(out), initial=0.0)) for out in self.outputs)


class Trial:
    """A group, its program and points to try it at; one compiled function ``f(g w, x)`` serves every element
    g.

    The first point has the given input, and the given variables or, shaken, some near them.
    """

    def __init__(
        self,
        group: Any,
        evaluation: Evaluation,
        variables: trees.Tree,
        shake: bool = True,
        points: int = 1,
    ):
        self.group = group
        self.evaluation = evaluation

        def moved(element: Element, flat: dict[str, jax.Array], inputs: tuple[Any, ...]) -> list[jax.Array]:
            return evaluation(trees.flatten(group.act(element, trees.unflatten(flat))), inputs)

        self.compiled = jax.jit(moved)
        given = evaluation.inputs
        starts = [generic(variables)] * shake + [trees.flatten(variables)]
        first = next((point for flat in starts if (point := self.point(flat, given))), None)
        if first is None:
            raise ValueError("the outputs of apply are not finite: check the parameters and the input")
        if not first.outputs:
            raise ValueError("apply has no floating-point outputs, so its symmetries cannot be checked")
        if evaluation.calls_back and self.change(self.group.unmoved(), first) > 0:
            raise ValueError("apply is not pure: two calls with the same arguments differ")
        others = (self.elsewhere(variables, seed) for seed in range(1, points))
        self.points = [first, *(point for point in others if point is not None)]

    def point(self, flat: dict[str, Any], inputs: tuple[Any, ...]) -> Point | None:
        """The point at this network and input, if the outputs are finite."""
        flat = double(flat)
        outputs = self.run(self.group.unmoved(), flat, inputs)
        return Point(flat, inputs, outputs) if all(np.all(np.isfinite(out)) for out in outputs) else None

    def elsewhere(self, variables: trees.Tree, seed: int) -> Point | None:
        """A point with another network and, where the program stands it, another input."""
        flat, given = generic(variables, seed), self.evaluation.inputs
        return self.point(flat, stirred(given, seed)) or self.point(flat, given)

    def run(self, element: Element, flat: dict[str, Any], inputs: tuple[Any, ...]) -> list[np.ndarray]:
        with jax.enable_x64(True):
            outs = self.compiled(element, flat, inputs)
        return [np.asarray(out) for out in outs]

    @property
    def tolerance(self) -> float:
        """How much rounding may change the outputs, relative to the largest."""
        return self.evaluation.precision**0.6

    def change(self, element: Element, point: Point) -> float:
        """``max |f(g w) - f(w)|`` at a point."""
        return difference(self.run(element, point.flat, point.inputs), point.outputs)

    def relative_change(self, element: Element, point: Point) -> float:
        """The change relative to the largest output."""
        change = self.change(element, point)
        return change / point.size if point.size else (np.inf if change else 0.0)

    def failing(self, elements: Sequence[Element]) -> list[int]:
        """The numbers of the points whose outputs their element changes by more than rounding."""
        pairs = zip(elements, self.points, strict=True)
        return [
            k
            for k, (element, point) in enumerate(pairs)
            if self.relative_change(element, point) > self.tolerance
        ]

    def random(self, seed: int = 0, spread: float = 0.5) -> Element:
        return shuffled(self.group.unmoved(), seed, spread)

    def elements(self) -> list[Element]:
        """A random element for every point."""
        return [self.random(k, SPREADS[k % len(SPREADS)]) for k in range(len(self.points))]


def shuffled(still: Element, seed: int = 0, spread: float = 0.5) -> Element:
    """Random permutations and signs, and log-scales with standard deviation `spread`, in NumPy."""
    rng = np.random.default_rng(seed)
    return Element(
        {name: rng.permuted(rows, axis=-1) for name, rows in still.permutations.items()},
        {name: rng.choice(np.array([-1, 1], np.int8), s.shape) for name, s in still.signs.items()},
        {name: spread * rng.normal(size=s.shape) for name, s in still.log_scales.items()},
    )


def generic(variables: trees.Tree, seed: int = 0) -> dict[str, Any]:
    """Variables, by name, near the given ones and without accidental zeros; what is nowhere negative stays
    so.
    """
    rng = np.random.default_rng(seed)
    return {path: _shaken(leaf, rng) for path, leaf in trees.flatten(variables).items()}


def _shaken(leaf: Any, rng: np.random.Generator) -> Any:
    array = np.asarray(leaf)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        return array
    array = array.astype(np.float64)
    noise = np.sqrt(12) * (rng.random(array.shape, np.float32) - 0.5)  # uniform, of variance one
    if array.min(initial=0.0) >= 0:
        return array * np.exp(0.2 * noise) + 0.1 * np.abs(noise) * (array == 0)
    return array + 0.2 * noise * (np.std(array) + 0.1)


def stirred(inputs: tuple[Any, ...], seed: int) -> tuple[Any, ...]:
    """Other inputs of the same kind: numbers are shaken, and the entries of whole numbers change places."""
    rng = np.random.default_rng(seed)

    def stir(leaf: Any) -> Any:
        array = np.asarray(leaf)
        if jnp.issubdtype(array.dtype, jnp.integer):
            return rng.permutation(array.ravel()).reshape(array.shape)
        return _shaken(leaf, rng)

    return tuple(map(stir, inputs))
