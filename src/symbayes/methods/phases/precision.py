"""The loss of acceptance due to reduced-precision gradients.

An accept step in float32 keeps a sampler exact whatever the precision of its gradients; their errors only
make it reject more.  The loss is measured: every chain computes one trajectory twice, from the same place
with the same momentum, with gradients as they are and with gradients in float32.
"""

from __future__ import annotations

import copy
from typing import Any

import jax
import jax.numpy as jnp

from symbayes.engine.phase import Left, Phase, Tick
from symbayes.posterior import Posterior


def acceptance_lost(phase: Phase, posterior: Posterior, shared: Any, left: Left, tick: Tick) -> jax.Array:
    """The mean acceptance over chains with float32 gradients, minus that with gradients as they are.

    `left` is what a phase of the same kind left.
    """
    exact = copy.copy(posterior)
    exact.precision = "float32"
    keys = jax.random.split(tick.key, jax.tree.leaves(left.chain)[0].shape[0])

    def acceptance(posterior: Posterior) -> jax.Array:
        def one(chain: Any, key: jax.Array) -> jax.Array:
            at = Tick(key, tick.unit)
            flight = phase.open(posterior, shared, chain, at)
            steps = phase.steps(posterior, shared)
            end = jax.lax.fori_loop(0, steps, lambda _, f: phase.step(posterior, shared, f, at), flight)
            return phase.close(posterior, shared, chain, end, at)[1]["acceptance"]

        return jnp.mean(jax.vmap(one)(left.chain, keys))

    return acceptance(exact) - acceptance(posterior)
