"""Many chains at once, in groups where all at once would be slower or too large.

Under vmap a convolution with a kernel for each chain becomes a grouped one, which takes longer than one chain
after another; other networks gain by being computed together as long as they fit in memory.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
from jax.custom_batching import custom_vmap
from jax.sharding import Mesh, PartitionSpec
from jax.typing import DTypeLike

from symbayes.networks import Network
from symbayes.networks.traced import equations, traced
from symbayes.posterior.numerics.convolutions import stays_convolution
from symbayes.posterior.numerics.memory import fitting_chains


@functools.lru_cache(maxsize=256)
def chains_at_once(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike, examples: int) -> int:
    """How many chains' gradients over so many examples are computed together."""
    _, program = traced(network, example_shape, dtype)
    if any(stays_convolution(equation) for equation, _ in equations(program.jaxpr)):
        return 1
    return fitting_chains(network, example_shape, dtype, examples)


def in_groups(function: Callable[..., Any], at_once: int, mesh: Mesh | None = None) -> Callable[..., Any]:
    """`function`, which under vmap is computed for at most `at_once` at the same time on a device.

    On a mesh, chains are spread over its axis ``chain``: each device has groups of its own.  It cannot be
    differentiated in reverse.
    """
    devices = 1 if mesh is None else mesh.shape["chain"]
    grouped = custom_vmap(function)

    @grouped.def_vmap
    def rule(size: int, batched: Any, *args: Any) -> tuple[Any, Any]:
        leaves, structure = jax.tree.flatten(args)
        flags = jax.tree.leaves(batched)

        def one(own: list[Any]) -> Any:
            rest = iter(own)
            filled = [next(rest) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)]
            return function(*jax.tree.unflatten(structure, filled))

        own = [leaf for leaf, flag in zip(leaves, flags, strict=True) if flag]
        each = size // devices if size % devices == 0 else size
        width = math.ceil(each / math.ceil(each / at_once))
        if width == each:
            made = jax.vmap(one)(own)
        else:
            mapped = functools.partial(jax.lax.map, one, batch_size=width if width > 1 else None)
            made = (mapped if each == size else _on_each(mapped, mesh))(own)
        return made, jax.tree.map(lambda _: True, made)

    return grouped


def _on_each(function: Callable[..., Any], mesh: Mesh | None) -> Callable[..., Any]:
    """`function` as every device along the axis ``chain`` does it for its own chains."""
    spec = PartitionSpec("chain")
    return jax.jit(
        jax.shard_map(
            function, mesh=mesh, in_specs=spec, out_specs=spec, axis_names={"chain"}, check_vma=False
        )
    )
