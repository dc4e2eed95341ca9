"""The loss landscape around the draws of a run: planes through three networks, mass, and curvature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from symbayes import evaluate, symmetry, trees
from symbayes.analyse.aligned import movable
from symbayes.analyse.bounds import Bounds, evenly
from symbayes.analyse.predictions import Statistics, scores_of_each, with_statistics
from symbayes.analyse.progress import Tell, silent
from symbayes.brief import briefly
from symbayes.data import Dataset, Examples
from symbayes.draws import Draws
from symbayes.engine import Opened, Source, open_run
from symbayes.evaluate import Eigenvalues, Plane
from symbayes.evaluate.plane import grid
from symbayes.posterior import Posterior
from symbayes.specs import Record, require
from symbayes.symmetry import Symmetry

STEPS = 15
AT_ONCE = 2**24
"""The most numbers in the networks of a plane that predict at once."""


@dataclass(frozen=True)
class Masses:
    """The summed squares of all parameters of every draw, (chain, draw), and their minimum over scalings.

    `without` counts units that have no minimum, since all their incoming or all their outgoing weights are
    zero; they keep their scale.
    """

    mass: np.ndarray
    minimum: np.ndarray
    without: int

    @property
    def ratio(self) -> np.ndarray:
        """The mass divided by its minimum; at least one."""
        return self.mass / self.minimum


@briefly
@dataclass(frozen=True, eq=False)
class Landscape:
    """The loss landscape around the draws of a run.

    Attributes:
        planes: the training loss (nats per example) on the plane through three networks, by form; empty where
            there are fewer than three networks.
        masses: the masses of the draws; None where the network has no scalings, or no smallest mass.
        eigenvalues: the largest eigenvalues of the Hessian of minus the log density, at the last draw of some
            chains.
        examples: the number of examples on which the loss was computed.
    """

    planes: Mapping[str, Plane]
    masses: Masses | None
    eigenvalues: list[Eigenvalues]
    examples: int

    def numbers(self) -> Record:
        """Everything as plain numbers, for JSON."""
        masses = self.masses
        return {
            "planes": {form: {k: v.tolist() for k, v in vars(p).items()} for form, p in self.planes.items()},
            "mass": None
            if masses is None
            else {
                "mass": masses.mass.tolist(),
                "minimum": masses.minimum.tolist(),
                "without": masses.without,
            },
            "eigenvalues": [
                {"values": one.values.tolist(), "bounds": one.bounds.tolist()} for one in self.eigenvalues
            ],
        }


def landscape(
    source: Source,
    data: Dataset,
    steps: int = STEPS,
    eigenvalues: int = 5,
    bounds: Bounds | None = None,
    tell: Tell = silent,
    statistics: Statistics = "recompute",
) -> Landscape:
    """Measure the loss landscape around the draws of a run, raw and aligned, on training examples."""
    run, bounds = open_run(source), bounds or Bounds()
    require(run.draws.forward.plain, "a landscape takes draws that predict by their weights alone")
    draws, train = bounds.some_draws(run.draws), bounds.some_examples(data.train, run.network)
    planes = {}
    if draws.chains * len(draws) >= 3:
        corners = three(draws)
        forms = {"raw": corners}
        if movable(run.group):
            tell("aligning three networks")
            aligned = symmetry.align(corners, run.group).draws
            assert isinstance(aligned, Draws)
            forms["aligned"] = aligned
        for form, networks in forms.items():
            tell(f"the plane through three networks, {form}")
            planes[form] = plane_of(run, networks, train, steps, statistics)
    tell("mass and its minimum over scalings")
    masses = masses_of(draws, run.group)
    found = []
    for chain in range(min(draws.chains, bounds.pairs)):
        tell(f"curvature at the last draw of chain {chain + 1}")
        one = trees.index(draws.select([chain], [len(draws) - 1]).variables, (0, 0))
        found.append(curvature(run.posterior, one, eigenvalues))
    return Landscape(planes, masses, found, len(train))


def three(draws: Draws) -> Draws:
    """Three networks as one chain: the last draws of three chains or, with fewer, evenly spaced draws."""
    places = np.stack(np.meshgrid(np.arange(draws.chains), np.arange(len(draws)), indexing="ij"), -1)
    chosen = places[evenly(draws.chains, 3), -1] if draws.chains >= 3 else places.reshape(-1, 2)
    rows = chosen[evenly(len(chosen), 3)]
    return Draws.from_variables(
        jax.tree.map(lambda leaf: np.asarray(leaf)[rows[:, 0], rows[:, 1]][None], draws.variables)
    )


def plane_of(
    run: Opened, networks: Draws, examples: Examples, steps: int, statistics: Statistics = "recompute"
) -> Plane:
    """The loss on the plane through three networks, with as many networks at once as fit in memory."""
    corners = trees.index(networks.variables, 0)
    flat = np.asarray(trees.ravel(corners["params"], 1))
    places = grid(list(flat), steps)
    shares = places.shares.reshape(-1, 3).astype(np.float32)
    size = max(1, AT_ONCE // max(1, flat.shape[1]))
    values = []
    for first in range(0, len(shares), size):
        some = shares[first : first + size]
        mixed = jax.tree.map(lambda leaf, s=some: np.tensordot(s, np.asarray(leaf), 1)[None], corners)
        line = with_statistics(run, Draws.from_variables(mixed), examples, statistics)
        values.append(scores_of_each(run, line, examples)["loss"])
    return Plane(places.x, places.y, np.concatenate(values).reshape(steps, steps), places.corners)


def masses_of(draws: Draws, group: Symmetry) -> Masses | None:
    """The masses of every draw; None where there are no scalings, or no minimum, as before a normaliser."""
    if not group.scales:
        return None
    try:
        least = symmetry.minimal_mass(draws, group)
    except ValueError:
        return None
    assert isinstance(least.draws, Draws)
    without = sum(int(mask.sum()) for mask in least.without_minimum.values())
    return Masses(_squares(draws), _squares(least.draws), without)


def _squares(draws: Draws) -> np.ndarray:
    leaves = jax.tree.leaves(draws.variables["params"])
    return np.asarray(
        sum(np.square(leaf, dtype=np.float64).sum(tuple(range(2, leaf.ndim))) for leaf in leaves)
    )


def curvature(posterior: Posterior, variables: Any, count: int) -> Eigenvalues:
    """The largest eigenvalues of the Hessian of minus the log density in the parameters, at one network."""
    flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, variables["params"]))

    def gradient(params: jax.Array, given: Posterior) -> jax.Array:
        def energy(vector: jax.Array) -> jax.Array:
            return -given.log_density({**variables, "params": unravel(vector)})

        return jax.grad(energy)(params)

    @jax.jit
    def product(vector: jax.Array, given: Posterior) -> jax.Array:
        return jax.jvp(lambda w: gradient(w, given), (flat,), (vector,))[1]

    def times(vector: np.ndarray) -> np.ndarray:
        return np.asarray(product(jnp.asarray(vector, jnp.float32), posterior))

    return evaluate.top_eigenvalues(times, flat.size, min(count, flat.size))
