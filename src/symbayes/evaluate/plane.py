"""The plane through three networks (Garipov et al. 2018): coordinates, and the loss on a grid.

With u = w1 - w0 and v = w2 - w0 minus its part along u, a network of the plane is ``w0 + x u/|u| + y v/|v|``,
so that lengths in the picture are lengths in the space of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np

from symbayes.evaluate.landscape import Weights

MARGIN = 0.25


@dataclass(frozen=True)
class Plane:
    """Values on a grid, (y, x), and where the three networks are, (3, 2)."""

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    corners: np.ndarray


@dataclass(frozen=True)
class Grid:
    """The places of a plane, and of each the shares of the three networks, which sum to one: (y, x, 3)."""

    x: np.ndarray
    y: np.ndarray
    shares: np.ndarray
    corners: np.ndarray


def grid(networks: Sequence[np.ndarray], steps: int = 21, margin: float = MARGIN) -> Grid:
    """A grid around three networks, each a vector of all weights."""
    if len(networks) != 3 or len({np.shape(each) for each in networks}) != 1 or np.ndim(networks[0]) != 1:
        raise ValueError("a plane goes through three networks of one kind, each a vector of weights.")
    if steps < 2:
        raise ValueError(f"steps must be at least 2, but is {steps}.")
    w0, w1, w2 = (np.asarray(each, np.float64) for each in networks)
    u, v = w1 - w0, w2 - w0
    along = float(v @ u) / max(float(u @ u), 1e-300)
    across = v - along * u
    width, height = float(np.linalg.norm(u)), float(np.linalg.norm(across))
    if not height > 1e-6 * max(width, float(np.linalg.norm(v))) or width == 0:
        raise ValueError("the three networks lie on one line: choose three that differ more.")
    corners = np.array([[0, 0], [width, 0], [along * width, height]])
    low, high = corners.min(0), corners.max(0)
    room = margin * (high - low)
    x, y = (np.linspace(low[k] - room[k], high[k] + room[k], steps) for k in (0, 1))
    third = y[:, None] / height + 0 * x
    second = x / width - along * third
    return Grid(x, y, np.stack([1 - second - third, second, third], -1), corners)


def plane(loss: Callable[[Weights], SupportsFloat], networks: Sequence[Weights], steps: int = 21) -> Plane:
    """The loss (or any number) on the plane through three trees of weights."""
    import jax  # here alone, so that the rest of this room needs NumPy only

    flat = [np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(each)]) for each in networks]
    places = grid(flat, steps)
    values = np.empty(places.shares.shape[:2])
    for where in np.ndindex(values.shape):
        a, b, c = places.shares[where].tolist()
        mixed = jax.tree.map(lambda x, y, z, a=a, b=b, c=c: a * x + b * y + c * z, *networks)
        values[where] = float(loss(mixed))
    return Plane(places.x, places.y, values, places.corners)
