"""How many examples fit in memory at once in a gradient."""

from __future__ import annotations

import math

import jax
import numpy as np

from symbayes.networks import Network
from symbayes.networks.traced import equations, traced

CPU_BUDGET = 1e9
"""Bytes for one chain's activations on a CPU; the same everywhere, so that runs can move between machines."""

DEVICE_SHARE = 1 / 32
"""Share of an accelerator's memory for one chain's activations."""


def fitting_chunk(network: Network, x: np.ndarray) -> int:
    """Examples per chunk such that a gradient's working memory stays within the budget.

    A gradient keeps some of what the forward pass makes and fuses the rest away: a 784-512-10 network
    takes 0.4 of the bytes counted here.
    """
    stats = jax.devices()[0].memory_stats() or {}
    budget = stats["bytes_limit"] * DEVICE_SHARE if "bytes_limit" in stats else CPU_BUDGET
    return max(1, min(len(x), int(budget / activation_bytes(network, x))))


def activation_bytes(network: Network, x: np.ndarray) -> int:
    """What the forward pass makes for one example, counted over the equations of its program."""
    _, program = traced(network, x.shape[1:], x.dtype)
    return sum(
        4 * times * math.prod(getattr(out.aval, "shape", ()))
        for equation, times in equations(program.jaxpr)
        for out in equation.outvars
    )
