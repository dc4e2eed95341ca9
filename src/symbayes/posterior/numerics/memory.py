"""How many examples fit in memory at once in a gradient."""

from __future__ import annotations

import jax
import numpy as np

from symbayes.networks import Network
from symbayes.networks.counting import activation_bytes

CPU_BUDGET = 1e9
"""Bytes for one chain's activations on a CPU; the same everywhere, so that runs can move between machines."""

DEVICE_SHARE = 1 / 32
"""Share of an accelerator's memory for one chain's activations."""


def fitting_chunk(network: Network, x: np.ndarray) -> int:
    """Examples per chunk such that a gradient's working memory stays within the budget.

    A gradient keeps some of what the forward pass makes and fuses the rest away: a 784-512-10 network
    takes 0.4 of the bytes counted here.
    """
    # Of several processes, only a device of one's own tells its memory.
    stats = jax.local_devices()[0].memory_stats() or {}
    budget = stats["bytes_limit"] * DEVICE_SHARE if "bytes_limit" in stats else CPU_BUDGET
    each = activation_bytes(network, x.shape[1:], x.dtype)
    return max(1, min(len(x), int(budget / each)))
