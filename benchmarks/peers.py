"""Leapfrog steps per second against blackjax and numpyro, on the same posterior in the same process."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from benchmarks.blocks import Bare
from benchmarks.targets import digits, mnist_sized
from benchmarks.timing import Result, interleaved
from symbayes import HMC, Posterior


def run() -> list[Result]:
    on_cpu = jax.default_backend() == "cpu"
    return [
        *_against_peers("digits 64-32-10", digits(), step_size=4e-3, steps=60, trajectories=10),
        # On an accelerator five trajectories make a block of the usual second, as a run has them.
        *_against_peers(
            "MNIST 784-512-10",
            mnist_sized(6_000 if on_cpu else 60_000),
            step_size=1e-5,
            steps=50,
            trajectories=1 if on_cpu else 5,
        ),
    ]


def _against_peers(
    name: str, posterior: Posterior, step_size: float, steps: int, trajectories: int
) -> list[Result]:
    method = HMC(
        step_size=step_size,
        trajectory=steps * step_size,
        burn_in=0,
        draws=trajectories,
        chains=1,
        adapt=False,
    )
    own = Bare(method, posterior, steps * trajectories)
    position, work = own.params, {"symbayes": own.block}
    for peer, make in {"blackjax": _blackjax, "numpyro": _numpyro}.items():
        try:
            work[peer] = make(posterior, position, step_size, steps, trajectories)
        except ImportError:
            print(f"{peer} is not installed: left out")
    seconds = interleaved(work)
    rates = {f"{peer}, steps/s": round(steps * trajectories / value, 1) for peer, value in seconds.items()}
    return [
        Result(f"{name}: symbayes / {peer} time", seconds["symbayes"] / seconds[peer], 1.0, rates)
        for peer in work
        if peer != "symbayes"
    ]


def log_density_of(posterior: Posterior):
    """The log density of parameters, as someone without this package writes it."""
    train = posterior.train

    def log_density(params):
        logits = posterior.network.apply({"params": params, "stats": {}}, train.x)
        chosen = jnp.arange(10) == train.y[:, None]
        scale = posterior.prior.standard_deviation
        return jnp.sum(jnp.where(chosen, jax.nn.log_softmax(logits), 0.0)) - 0.5 / scale**2 * sum(
            jnp.sum(w**2) for w in jax.tree.leaves(params)
        )

    return log_density


def _blackjax(posterior: Posterior, position, step_size: float, steps: int, trajectories: int):
    import blackjax

    size = sum(leaf.size for leaf in jax.tree.leaves(position))
    kernel = blackjax.hmc(log_density_of(posterior), step_size, jnp.ones(size), steps)

    @jax.jit
    def chain(state, key):
        keys = jax.random.split(key, trajectories)
        return jax.lax.scan(lambda s, k: (kernel.step(k, s)[0], None), state, keys)[0]

    return functools.partial(chain, jax.jit(kernel.init)(position), jax.random.key(1))


def _numpyro(posterior: Posterior, position, step_size: float, steps: int, trajectories: int):
    from numpyro.infer.hmc import hmc

    log_density = log_density_of(posterior)
    init, sample = hmc(lambda params: -log_density(params), algo="HMC")
    state = init(
        position,
        num_warmup=0,
        step_size=step_size,
        trajectory_length=steps * step_size,
        adapt_step_size=False,
        adapt_mass_matrix=False,
        rng_key=jax.random.key(1),
    )

    @jax.jit
    def chain(state):
        return jax.lax.fori_loop(0, trajectories, lambda _, s: sample(s), state)

    return lambda: chain(state).z
