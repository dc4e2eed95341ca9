"""Trying a group on its program in float64: does the function stay the same?"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.program.evaluation import Evaluation, difference, double


class Trial:
    """A group, its program and variables to try it at; one compiled function ``f(g w)`` serves every element
    g.
    """

    def __init__(self, group: Any, evaluation: Evaluation, variables: trees.Tree, shake: bool = True):
        self.group = group
        self.evaluation = evaluation

        def moved(element: Element, flat: dict[str, jax.Array], inputs: tuple[Any, ...]) -> list[jax.Array]:
            return evaluation(trees.flatten(group.act(element, trees.unflatten(flat))), inputs)

        self.compiled = jax.jit(moved)
        starts = [generic(variables)] * shake + [trees.flatten(variables)]
        for start in starts:
            self.start = start
            if all(np.all(np.isfinite(out)) for out in self.outputs):
                break
            del self.outputs
        else:
            raise ValueError("the outputs of apply are not finite: check the parameters and the input")
        if not self.outputs:
            raise ValueError("apply has no floating-point outputs, so its symmetries cannot be checked")
        if difference(self.run(self.group.unmoved()), self.outputs) > 0:
            raise ValueError("apply is not pure: two calls with the same arguments differ")

    def run(self, element: Element) -> list[np.ndarray]:
        with jax.enable_x64(True):
            outs = self.compiled(element, double(self.start), self.evaluation.inputs)
        return [np.asarray(out) for out in outs]

    @cached_property
    def outputs(self) -> list[np.ndarray]:
        return self.run(self.group.unmoved())

    @cached_property
    def size(self) -> float:
        """The largest output."""
        return max(float(np.max(np.abs(out), initial=0.0)) for out in self.outputs)

    @cached_property
    def limit(self) -> float:
        """How much rounding may change the outputs."""
        return self.evaluation.precision**0.6 * self.size

    def change(self, element: Element) -> float:
        """``max |f(g w) - f(w)|``."""
        return difference(self.run(element), self.outputs)

    def random(self, seed: int = 0) -> Element:
        return shuffled(self.group.unmoved(), seed)


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

    def shake(leaf: Any) -> Any:
        array = np.asarray(leaf)
        if not jnp.issubdtype(array.dtype, jnp.floating):
            return array
        array = array.astype(np.float64)
        noise = rng.normal(size=array.shape)
        if array.min(initial=0.0) >= 0:
            return array * np.exp(0.2 * noise) + 0.1 * np.abs(noise) * (array == 0)
        return array + 0.2 * noise * (np.std(array) + 0.1)

    return {path: shake(leaf) for path, leaf in trees.flatten(variables).items()}
