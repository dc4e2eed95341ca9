"""A network with one more parameter for each target: the log scale of its noise, the same for all inputs.

The outputs are those of the network, and after them the log scales, as the likelihood `LearnedNoise` takes
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes.networks.network import Network, Spec
from symbayes.trees import Variables

NOISE = "noise"
LOG_SCALE = "log_scale"


@dataclass(frozen=True)
class WithNoise(Spec):
    """A network, by its spec, with the noise of its targets."""

    inner: Any

    def network(self) -> NoisyNetwork:
        return NoisyNetwork(self, self.inner.network())


@dataclass(frozen=True)
class NoisyNetwork:
    """Outputs (n, ..., 2k) of a network with outputs (n, ..., k)."""

    spec: WithNoise
    inner: Network

    def init(self, key: jax.Array, x: jax.Array) -> Variables:
        variables = self.inner.init(key, x)
        outputs = jax.eval_shape(self.inner.apply, variables, x)
        noise = {LOG_SCALE: jnp.zeros(outputs.shape[-1], outputs.dtype)}
        return {**variables, "params": {**variables["params"], NOISE: noise}}

    def apply(self, variables: Variables, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        return _with_scales(variables, self.inner.apply(_inner(variables), x, key))

    def apply_train(
        self, variables: Variables, x: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, dict[str, Any]]:
        outputs, stats = self.inner.apply_train(_inner(variables), x, key)
        return _with_scales(variables, outputs), stats


def _inner(variables: Variables) -> Variables:
    params = {name: value for name, value in variables["params"].items() if name != NOISE}
    return {**variables, "params": params}


def _with_scales(variables: Variables, outputs: jax.Array) -> jax.Array:
    scales = jnp.broadcast_to(variables["params"][NOISE][LOG_SCALE], outputs.shape)
    return jnp.concatenate([outputs, scales], axis=-1)


def with_noise(network: Network) -> NoisyNetwork:
    """The same network with a noise scale for each target, to be learnt with its weights.

    It belongs to the likelihood `LearnedNoise`.  The parameter ``noise/log_scale`` starts at zero, which is
    the likelihood's `centre`; its prior is that of the weights unless a `PerLayer` has one for ``"noise/*"``.
    """
    return NoisyNetwork(WithNoise(network.spec), network)
