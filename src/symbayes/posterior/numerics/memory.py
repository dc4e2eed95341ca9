"""How much memory a gradient takes, and how many examples and chains fit at once."""

from __future__ import annotations

import jax
import numpy as np
from jax.typing import DTypeLike

from symbayes.networks import Network
from symbayes.networks.counting import product_bytes

KEPT = 3
"""Working memory of a gradient, in units of the bytes of all outputs of products.

Measured on an H200 in tf32: 2.4 for a 784-512-10 network, 2.2 for ResNet-20, 3.0 for LeNet; half as much in
bfloat16.
"""

CPU_BUDGET = 1e9
"""Bytes for one chain's gradient on a CPU; the same everywhere, so that runs can move between machines."""

DEVICE_SHARE = 1 / 8
"""Share of an accelerator's memory for one chain's gradient."""

CHAINS = 4
"""Such budgets for all chains together."""


def fitting_chunk(network: Network, x: np.ndarray) -> int:
    """Examples per chunk such that a gradient's working memory stays within the budget."""
    return max(1, min(len(x), int(budget() / working_bytes(network, x.shape[1:], x.dtype))))


def fitting_chains(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike, examples: int) -> int:
    """Chains whose gradients of so many examples stay within their budget together."""
    return max(1, int(CHAINS * budget() / (examples * working_bytes(network, example_shape, dtype))))


def working_bytes(network: Network, example_shape: tuple[int, ...], dtype: DTypeLike) -> int:
    """What a gradient takes for one example."""
    return KEPT * product_bytes(network, example_shape, dtype) + 4 * int(np.prod(example_shape))


def budget() -> float:
    """Bytes for one chain's gradient."""
    # Of several processes, only a device of one's own tells its memory.
    stats = jax.local_devices()[0].memory_stats() or {}
    return stats["bytes_limit"] * DEVICE_SHARE if "bytes_limit" in stats else CPU_BUDGET
