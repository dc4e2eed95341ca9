"""Where a run's arrays live: a mesh with the axes ``chain`` and ``data``.

Chains are independent, so they spread over ``chain`` without any communication.  Examples spread
over ``data``: a gradient over all of them is then one all-reduce.  JAX's SPMD partitioner does the
rest; the program is the same on one device and on many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from symbayes.engine.loop import State
from symbayes.posterior import Posterior
from symbayes.specs import require

AXES = ("chain", "data")


def make_mesh(chains: int, devices: Sequence[Any] | None = None, data: int | None = None) -> Mesh:
    """A mesh over all devices (or the given ones): as many as divide the chains along ``chain``,
    the rest along ``data``."""
    devices = list(jax.devices() if devices is None else devices)
    along_data = len(devices) // math.gcd(chains, len(devices)) if data is None else data
    require(
        along_data > 0 and len(devices) % along_data == 0,
        f"{len(devices)} devices cannot be laid out with {along_data} along the data axis",
    )
    return Mesh(np.asarray(devices).reshape(-1, along_data), AXES)


def place_posterior(posterior: Posterior, mesh: Mesh) -> Posterior:
    """The posterior with its examples spread over the mesh's data axis."""
    posterior = posterior.with_chunks_of(multiple=mesh.shape["data"])
    posterior.spread = mesh.shape["chain"] > 1
    posterior.chunks = jax.device_put(posterior.chunks, NamedSharding(mesh, PartitionSpec(None, "data")))
    return posterior


def place_state(state: State, mesh: Mesh) -> State:
    """The state with its chains spread over the mesh's chain axis, the rest on every device."""
    everywhere = NamedSharding(mesh, PartitionSpec())
    over_chains = NamedSharding(mesh, PartitionSpec("chain"))
    return State(
        key=jax.device_put(state.key, everywhere),
        chain=jax.device_put(state.chain, over_chains),
        shared=jax.device_put(state.shared, everywhere),
        flight=jax.device_put(state.flight, over_chains),
    )


def require_fits(mesh: Mesh, chains: int) -> None:
    """Refuse a mesh that cannot hold these chains."""
    require(
        tuple(mesh.axis_names) == AXES,
        f"a mesh has the axes {AXES}, not {tuple(mesh.axis_names)}: make one with symbayes.make_mesh",
    )
    require(
        chains % mesh.shape["chain"] == 0,
        f"{chains} chains do not divide among the {mesh.shape['chain']} devices of the mesh's chain axis: "
        "use a multiple of it",
    )
