"""The element-wise functions between layers, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

import jax

from symbayes.specs import require

Activation = Literal["relu", "leaky_relu", "tanh", "silu", "gelu", "gelu_tanh"]

ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": jax.nn.relu,
    "leaky_relu": jax.nn.leaky_relu,
    "tanh": jax.numpy.tanh,
    "silu": jax.nn.silu,
    "gelu": functools.partial(jax.nn.gelu, approximate=False),
    "gelu_tanh": jax.nn.gelu,
}


def require_activation(name: str) -> None:
    """Refuse a name that is not in the table."""
    require(name in ACTIVATIONS, f"unknown activation {name!r}: choose one of {', '.join(ACTIVATIONS)}")
