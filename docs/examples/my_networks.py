"""Networks of one's own: a Flax NNX module, and two plain functions."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx


# --8<-- [start:module]
class ConvNet(nnx.Module):
    """For images of 8x8 pixels and one colour."""

    def __init__(self, channels: int, outputs: int, rngs: nnx.Rngs) -> None:
        self.conv = nnx.Conv(1, channels, kernel_size=(3, 3), rngs=rngs)
        self.output = nnx.Linear(8 * 8 * channels, outputs, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = nnx.relu(self.conv(x))
        return self.output(x.reshape(x.shape[0], -1))


# --8<-- [end:module]


# --8<-- [start:functions]
def fresh(key: jax.Array, x: jax.Array, degree: int) -> dict[str, Any]:
    return {"coefficients": jax.random.normal(key, (degree + 1,))}


def polynomial(params: dict[str, Any], x: jax.Array, degree: int) -> jax.Array:
    return jnp.polyval(params["coefficients"], x)


# --8<-- [end:functions]
