"""HMC against the bare compiled gradient loop of the same length: what exactness and bookkeeping cost."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from benchmarks.blocks import Bare
from benchmarks.targets import mnist_sized
from benchmarks.timing import Result, interleaved
from symbayes import HMC


@functools.partial(jax.jit, static_argnames="network")
def bare_loop(network, x, y, params, steps):
    """Plain full-batch gradient steps, written without symbayes."""

    def loss(w):
        logits = network.apply({"params": w, "stats": {}}, x)
        chosen = jnp.arange(10) == y[:, None]
        return -jnp.sum(jnp.where(chosen, jax.nn.log_softmax(logits), 0.0)) + 0.5 * sum(
            jnp.sum(leaf**2) for leaf in jax.tree.leaves(w)
        )

    def step(_, w):
        return jax.tree.map(lambda a, g: a - 1e-7 * g, w, jax.grad(loss)(w))

    return jax.lax.fori_loop(0, steps, step, params)


def run() -> list[Result]:
    on_cpu = jax.default_backend() == "cpu"
    steps = 20 if on_cpu else 500
    posterior = mnist_sized(60_000)
    method = HMC(step_size=1e-5, trajectory=steps * 1e-5, burn_in=0, draws=4, chains=1, adapt=False)
    hmc = Bare(method, posterior, steps)
    train = posterior.train
    seconds = interleaved(
        {
            "bare": lambda: bare_loop(posterior.network, train.x, train.y, hmc.params, steps),
            "hmc": hmc.block,
        },
        rounds=5,
    )
    detail = {"leapfrog steps": steps, "examples": 60_000, **{k: round(v, 4) for k, v in seconds.items()}}
    return [
        Result("HMC / bare gradient loop", seconds["hmc"] / seconds["bare"], 1.10 if on_cpu else 1.05, detail)
    ]
