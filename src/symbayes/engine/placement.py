"""Where a run's arrays live: a mesh with the axes ``chain`` and ``data``.

Chains are independent, so they spread over ``chain`` without any communication.  Examples spread
over ``data``: a gradient over all of them is then one all-reduce.  JAX's SPMD partitioner does the
rest; the program is the same on one device and on many.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from symbayes.cores import available_cores
from symbayes.engine.crew import local
from symbayes.engine.groups import cut
from symbayes.engine.loop import State
from symbayes.posterior import Posterior
from symbayes.specs import require, require_counts

AXES = ("chain", "data")

COPIES = 2**30
"""Bytes that the examples may take on the cores of a CPU together, each of which has a copy."""


def make_mesh(chains: int, devices: Sequence[object] | None = None, data: int | None = None) -> Mesh:
    """A mesh over all devices (or the given ones): as many as divide the chains along ``chain``,
    the rest along ``data``."""
    devices = list(jax.devices() if devices is None else devices)
    along_data = len(devices) // math.gcd(chains, len(devices)) if data is None else data
    require(
        along_data > 0 and len(devices) % along_data == 0,
        f"{len(devices)} devices cannot be laid out with {along_data} along the data axis",
    )
    return Mesh(np.asarray(devices).reshape(-1, along_data), AXES)


def use_cores(count: int | None = None) -> None:
    """Let runs on a CPU spread their chains over its cores, all of them or so many.

    To be called before JAX computes anything: each core is then a device of its own.  Runs whose chains do
    not divide among them use fewer.  The command line does this by itself.
    """
    require_counts(cores=1 if count is None else count)
    cores = available_cores() if count is None else count
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError:
        require(
            len(jax.devices("cpu")) == cores,
            "use_cores comes too late: JAX has computed something already, so call it first in the program",
        )


def over_cores(posterior: Posterior, chains: int, together: int | None = None) -> Mesh | None:
    """A mesh over the CPU's devices where JAX was told to make several, as by `use_cores`; None for one.

    It divides the chains, and also groups of them that are worked on `together`.
    """
    if not _several_asked_for() or posterior.mesh is not None or jax.process_count() > 1:
        return None
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(posterior.chunks))
    most = min(jax.local_device_count(), max(1, COPIES // max(1, size)))
    divided = math.gcd(*(len(group) for group in cut(chains, min(together or chains, chains))))
    count = max(n for n in range(1, most + 1) if divided % n == 0)
    return None if count == 1 else make_mesh(chains, jax.local_devices()[:count])


def _several_asked_for() -> bool:
    return jax.config.values["jax_num_cpu_devices"] > 1 and jax.default_backend() == "cpu"


def place_posterior(posterior: Posterior, mesh: Mesh) -> Posterior:
    """The posterior with its examples spread over the mesh's data axis."""
    return posterior.spread(mesh)


def place_state(state: State, mesh: Mesh) -> State:
    """The state with its chains spread over the mesh's chain axis, the rest on every device."""
    everywhere = NamedSharding(mesh, PartitionSpec())
    over_chains = NamedSharding(mesh, PartitionSpec("chain"))
    return State(
        key=_placed(state.key, everywhere),
        chain=_placed(state.chain, over_chains),
        shared=_placed(state.shared, everywhere),
        flight=_placed(state.flight, over_chains),
    )


def _placed(tree: Any, sharding: NamedSharding) -> Any:
    """A tree of arrays that every process has, or that span processes, where they belong."""

    def place(leaf: Any) -> jax.Array:
        if sharding.is_fully_addressable or _spans_processes(leaf):
            return jax.device_put(leaf, sharding)
        # `device_put` would send the whole array round to see that all processes have the same.
        array = np.asarray(leaf)
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])

    return jax.tree.map(place, tree)


def gathered(tree: Any, mesh: Mesh | None) -> Any:
    """The same tree, with what is spread over processes whole on every device, so that each can read it.

    A collective operation: all processes of the mesh take part, in the same order among their programs.
    """
    leaves, structure = jax.tree.flatten(tree)
    apart = [n for n, leaf in enumerate(leaves) if _spans_processes(leaf) and not leaf.is_fully_replicated]
    if mesh is None or not apart:
        return tree
    for number, whole in zip(apart, _whole(mesh)([leaves[n] for n in apart]), strict=True):
        leaves[number] = whole
    return jax.tree.unflatten(structure, leaves)


def _spans_processes(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and not leaf.is_fully_addressable


@functools.lru_cache(maxsize=8)
def _whole(mesh: Mesh) -> Any:
    return jax.jit(lambda arrays: arrays, out_shardings=NamedSharding(mesh, PartitionSpec()))


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
    left_out = set(range(jax.process_count())) - {device.process_index for device in mesh.devices.flat}
    require(
        not left_out or local(mesh),
        f"the mesh has no device of process {min(left_out, default=0)}: "
        "make it of all devices, with symbayes.make_mesh(chains), or of one process's own",
    )
