"""Sums and mini-batches over examples that are spread over the data axis of a mesh.

Left to the partitioner, a sum over chunks is added up over devices once for every chunk, and taking rows of
chunked examples brings all examples to every device.  Here every device adds up its own examples, and a sum
over devices comes once, at the end; of a mini-batch every device gets its share of the rows, from whichever
device holds them.

Chains are no concern of this file: their axis stays with the partitioner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from symbayes.posterior.numerics.chunks import Chunks

AXIS = "data"


def width(mesh: Mesh | None) -> int:
    """Over how many devices examples are spread."""
    return 1 if mesh is None else mesh.shape[AXIS]


def summed(mesh: Mesh | None, function: Callable[[Any, Chunks], Any], params: Any, chunks: Chunks) -> Any:
    """``function(params, chunks)``, a tree of sums over examples: one all-reduce, whatever the chunks."""
    if mesh is None or width(mesh) == 1:
        return function(params, chunks)

    def own(params: Any, chunks: Chunks) -> Any:
        return jax.lax.psum(function(params, chunks), AXIS)

    return _each(own, mesh, (P(), P(None, AXIS)), P())(params, chunks)


def taken(mesh: Mesh | None, chunks: Chunks, rows: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The examples with these numbers, spread over devices where their count allows it."""
    if mesh is None or width(mesh) == 1:
        x, y = chunks.rows()
        return x[rows], y[rows]
    shared = rows.shape[0] % width(mesh) == 0

    def own(place: jax.Array, arrays: Any, rows: jax.Array) -> Any:
        each = chunks.mask.shape[1] // width(mesh)
        chunk, column = jnp.divmod(rows, chunks.mask.shape[1])
        column = column - place[0] * each
        here = (column >= 0) & (column < each)

        def take(array: jax.Array) -> jax.Array:
            found = array[chunk, jnp.clip(column, 0, each - 1)]
            found = jnp.where(here.reshape(-1, *(1,) * (found.ndim - 1)), found, jnp.zeros_like(found))
            # Scattering the sum would send half the bytes, but the partitioner then gathers all chains.
            found = jax.lax.psum(found, AXIS)
            if not shared:
                return found
            share = rows.shape[0] // width(mesh)
            return jax.lax.dynamic_slice_in_dim(found, place[0] * share, share)

        return jax.tree.map(take, arrays)

    places = jnp.arange(width(mesh))
    apart = _each(own, mesh, (P(AXIS), P(None, AXIS), P()), P(AXIS) if shared else P())
    return apart(places, (chunks.x, chunks.y), rows)


def _each(function: Callable[..., Any], mesh: Mesh, given: Any, gives: Any) -> Callable[..., Any]:
    """The function, as every device along the data axis does it for itself."""
    # Unchecked, since a checked gradient is added up over devices by itself: once for every chunk.  Compiled,
    # since JAX does not do it for one axis of two otherwise.
    return jax.jit(
        jax.shard_map(
            function, mesh=mesh, in_specs=given, out_specs=gives, axis_names={AXIS}, check_vma=False
        )
    )
