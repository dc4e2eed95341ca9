"""Variables as one long vector: first the weights, then the constants (statistics of normalisers)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Shaped

from symbayes import trees
from symbayes.draws import Draws
from symbayes.specs import require

CONSTANTS = "stats/"
"""Variables under this name are no weights: they are held at their mean."""


def weights_of(variables: Any) -> dict[str, Any]:
    """The variables without the constants."""
    return {part: tree for part, tree in variables.items() if f"{part}/" != CONSTANTS}


@dataclass(frozen=True)
class Layout:
    """The place of every variable in the vector; `shapes` come in natural order."""

    shapes: Mapping[str, tuple[int, ...]]

    @cached_property
    def places(self) -> dict[str, slice]:
        """Where each variable lies, weights first."""
        order = sorted(self.shapes, key=lambda name: name.startswith(CONSTANTS))
        ends = np.cumsum([math.prod(self.shapes[name]) for name in order]).tolist()
        return {
            name: slice(end - math.prod(self.shapes[name]), end)
            for name, end in zip(order, ends, strict=True)
        }

    @cached_property
    def weights(self) -> dict[str, slice]:
        """Where the weights lie: all of them before the first constant."""
        return {name: place for name, place in self.places.items() if not name.startswith(CONSTANTS)}

    @property
    def size(self) -> int:
        """How many numbers one draw has, constants included."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    @property
    def weight_count(self) -> int:
        return sum(math.prod(self.shapes[name]) for name in self.weights)

    def tree(self, vector: Shaped[np.ndarray, "*lead size"]) -> dict[str, Any]:
        """The variables that the vectors hold, with the same leading axes."""
        leaves = {
            name: vector[..., self.places[name]].reshape(vector.shape[:-1] + shape)
            for name, shape in self.shapes.items()
        }
        return trees.variables(leaves)

    def weight_tree(self, vector: Shaped[np.ndarray, "*lead weight"]) -> dict[str, Any]:
        """The weights that the vectors hold, with the same leading axes."""
        return trees.unflatten(
            {
                name: vector[..., place].reshape(vector.shape[:-1] + self.shapes[name])
                for name, place in self.weights.items()
            }
        )

    def weight_vector(self, variables: Any) -> Float64[np.ndarray, "*lead weight"]:
        """The weights of the variables as vectors in float64; leading axes are kept."""
        flat = trees.flatten(variables)
        given = {name for name in flat if not name.startswith(CONSTANTS)}
        if wrong := sorted(given ^ set(self.weights), key=trees.path_key):
            state = "missing" if wrong[0] in self.weights else "unknown here"
            raise ValueError(
                f"parameter {wrong[0]!r} is {state}: give variables of the network that was fitted"
            )
        leaves = {name: np.asarray(flat[name], np.float64) for name in self.weights}
        lead = next(array.shape[: array.ndim - len(self.shapes[name])] for name, array in leaves.items())
        for name, array in leaves.items():
            require(
                array.shape == lead + self.shapes[name],
                f"parameter {name!r} has shape {array.shape}, but {lead + self.shapes[name]} is needed",
            )
        return np.concatenate([array.reshape(*lead, -1) for array in leaves.values()], axis=-1)


def walk(
    draws: Draws, layout: Layout, max_bytes: int, constants: bool = True
) -> Iterator[tuple[slice, Float[np.ndarray, "draw column"]]]:
    """All draws (of all chains) of some columns of the vector at a time, with their place."""
    for name, rows, values in draws.columns(max_bytes):
        if name.startswith(CONSTANTS) and not constants:
            continue
        _require_finite(name, values)
        row_size = math.prod(layout.shapes[name][1:])
        start = layout.places[name].start + rows.start * row_size
        columns = values.reshape(values.shape[0] * values.shape[1], -1)
        if not np.issubdtype(columns.dtype, np.floating):
            columns = columns.astype(np.float64)
        yield slice(start, start + columns.shape[1]), columns


def _require_finite(name: str, values: np.ndarray) -> None:
    if np.isfinite(values).all():
        return
    chain, draw = np.argwhere(~np.isfinite(values))[0][:2]
    raise ValueError(
        f"{name!r} is not finite in draw {draw} of chain {chain}: leave out the draws that diverged"
    )
