"""How much memory a gradient takes, how many examples and chains fit at once, and what is left for chains."""

from __future__ import annotations

import os

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

CARRIED = 1 - CHAINS * DEVICE_SHARE
"""Share of the memory for what all chains carry from step to step: the rest is for gradients."""


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
    limit = _limit()
    return CPU_BUDGET if limit is None else limit * DEVICE_SHARE


def room(devices: int) -> float:
    """Bytes for what all chains on so many devices carry; the cores of a CPU share those of the machine."""
    limit = _limit()
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if limit is None else limit * devices
    return whole * CARRIED


def _limit() -> int | None:
    """Bytes that an accelerator gives, None for a CPU."""
    # Of several processes, only a device of one's own tells its memory.
    return (jax.local_devices()[0].memory_stats() or {}).get("bytes_limit")
