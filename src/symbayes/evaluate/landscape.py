"""The loss along a straight line between two networks, and the barrier on it.

With ``f(t)`` the loss of the network ``(1 - t) w_0 + t w_1``,

    barrier = max_t (f(t) - (1 - t) f(0) - t f(1))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.inputs import finite

Weights = Any
"""A tree of weights: any JAX pytree of arrays.  Trees are not imported here, since they need JAX."""


@dataclass(frozen=True)
class Path:
    """Values at the places `t`, from 0 to 1, of a line between two networks."""

    t: np.ndarray
    values: np.ndarray


def path(loss: Callable[[Weights], SupportsFloat], w0: Weights, w1: Weights, steps: int = 25) -> Path:
    """The loss (or accuracy, or any number) of (1-t) w0 + t w1 at `steps` evenly spaced t, ends included.

    The weights are trees of arrays of one structure, given to `loss` as they are mixed.
    """
    import jax  # here alone, so that the rest of this room needs NumPy only

    if steps < 2:
        raise ValueError(f"steps must be at least 2, both ends being among them, but is {steps}.")
    _require_same_shapes(w0, w1)
    t = np.linspace(0.0, 1.0, steps)
    # Plain numbers keep the precision of the weights.
    mixed = (jax.tree.map(lambda a, b, s=s: (1 - s) * a + s * b, w0, w1) for s in t.tolist())
    return Path(t, np.array([float(loss(weights)) for weights in mixed]))


def barrier(values: Path | ArrayLike, t: ArrayLike | None = None) -> float:
    """How far losses along a path rise above the straight line between those at its ends; at least 0.

    The maximum over t of loss(t) - ((1-t) loss(0) + t loss(1)), as in Frankle et al. (2020) and
    Entezari et al. (2022).  Takes a `Path`, or values; these are evenly spaced, ends included, without `t`.
    """
    if isinstance(values, Path):
        values, t = values.values, values.t if t is None else t
    losses = finite(values, "values")
    if losses.ndim != 1 or len(losses) < 2:
        raise ValueError(f"values must hold at least both ends of one path, but has shape {losses.shape}.")
    places = np.linspace(0.0, 1.0, len(losses)) if t is None else finite(t, "t")
    if places.shape != losses.shape or places[0] != 0 or places[-1] != 1 or (np.diff(places) < 0).any():
        raise ValueError(f"t must rise from 0 to 1 in {len(losses)} places, as many as there are values.")
    return float(np.max(losses - ((1 - places) * losses[0] + places * losses[-1])))


def accuracy_drop(values: Path | ArrayLike, t: ArrayLike | None = None) -> float:
    """The barrier for accuracies: how far they fall below the line between those at the ends; at least 0."""
    if isinstance(values, Path):
        values, t = values.values, values.t if t is None else t
    return barrier(-finite(values, "values"), t)


def _require_same_shapes(w0: Any, w1: Any) -> None:
    import jax

    first, second = (
        {
            jax.tree_util.keystr(where): np.shape(leaf)
            for where, leaf in jax.tree_util.tree_leaves_with_path(w)
        }
        for w in (w0, w1)
    )
    for name in [*first, *second]:
        if first.get(name) != second.get(name):
            raise ValueError(
                f"parameter {name} has shape {first.get(name, 'none')} at one end of the path and "
                f"{second.get(name, 'none')} at the other: give two networks of one kind."
            )
