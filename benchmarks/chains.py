"""Steps and full gradients a second, and many networks at once against one after another."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from benchmarks.blocks import Bare
from benchmarks.targets import mnist_sized
from benchmarks.timing import Result, interleaved
from symbayes import HMC, Posterior, data, likelihoods, networks, priors
from symbayes.engine.loop import LOOPS_ON_DEVICE

NETWORKS = {
    "784-512-10": (networks.mlp(hidden=(512,), outputs=10), (28, 28, 1)),
    "LeNet": (networks.lenet(), (28, 28, 1)),
    "ResNet-20-FRN": (networks.resnet20_frn(), (32, 32, 3)),
}


LEAPFROGS = {"tf32": 1_800.0, "bf16": 3_000.0}
"""Steps a second of the MLP that are aimed at on one H200, with sixteen chains in bf16."""
MILLISECONDS = {"LeNet": 10.0, "ResNet-20-FRN": 220.0}
"""For a gradient over all data, aimed at there."""


def run(limit: float = float("inf")) -> Iterator[Result]:
    """Nothing begins after so many seconds."""
    until = time.perf_counter() + limit
    for make in _on_cpu() if jax.default_backend() == "cpu" else _on_accelerator():
        if time.perf_counter() < until:
            yield (result := make())
            print(result, flush=True)
        else:
            print(f"no time left for {make.args}")


def _on_cpu() -> list[functools.partial[Result]]:
    sizes = {"784-512-10": (2_000, 4), "LeNet": (500, 4), "ResNet-20-FRN": (20, 2)}
    together = [functools.partial(_gradients, name, *size, "float32") for name, size in sizes.items()]
    return [*together, functools.partial(_fleet, "784-512-10", 16, True)]


def _on_accelerator() -> list[functools.partial[Result]]:
    """From the most to the least important: each compiles for some ten seconds."""
    low = ("tf32", "bf16")
    return [
        functools.partial(_alone, "ResNet-20-FRN", 50_000, "bf16"),
        *(functools.partial(_gradients, "LeNet", 60_000, 2, precision) for precision in low),
        *(functools.partial(_leapfrogs, precision, chains) for precision in low[::-1] for chains in (16, 1)),
        functools.partial(_alone, "ResNet-20-FRN", 50_000, "tf32"),
        functools.partial(_fleet, "LeNet", 256, False),
        functools.partial(_gradients, "784-512-10", 60_000, 4, "tf32"),
    ]


def posterior_of(name: str, examples: int, precision: Any) -> Posterior:
    """Data of the network's size, made of noise."""
    network, shape = NETWORKS[name]
    rng = np.random.default_rng(0)
    train = data.Examples(
        rng.random((examples, *shape), np.float32), rng.integers(0, 10, examples).astype(np.int32)
    )
    return Posterior(network, likelihoods.Categorical(), priors.Normal(1.0), train, precision=precision)


def stacked(posterior: Posterior, chains: int) -> Any:
    return jax.vmap(posterior.init)(jax.random.split(jax.random.key(0), chains))


@functools.partial(jax.jit, compiler_options=LOOPS_ON_DEVICE)
def ascend(posterior: Posterior, chains: Any, steps: int) -> Any:
    """Full-batch gradient steps of all chains."""

    def step(_: Any, variables: Any) -> Any:
        gradient = jax.vmap(posterior.gradient)(variables)
        params = jax.tree.map(lambda w, g: w + 1e-9 * g, variables["params"], gradient)
        return {**variables, "params": params}

    return jax.lax.fori_loop(0, steps, step, chains)


def _gradients(name: str, examples: int, chains: int, precision: Any) -> Result:
    posterior = posterior_of(name, examples, precision)
    many, one = stacked(posterior, chains), stacked(posterior, 1)
    seconds = interleaved(
        {"together": lambda: ascend(posterior, many, 3), "one": lambda: ascend(posterior, one, 3)}, rounds=3
    )
    ratio = seconds["together"] / (chains * seconds["one"])
    detail = {
        "examples": examples,
        "chunk": posterior.chunk,
        "chains": chains,
        "ms per gradient alone": round(seconds["one"] / 3 * 1e3, 3),
        "ms per chain together": round(seconds["together"] / 3 / chains * 1e3, 3),
    }
    if name in MILLISECONDS:
        detail["ms aimed at on one H200"] = MILLISECONDS[name]
    return Result(f"{chains} chains of {name} in {precision} / one after another", ratio, 1.05, detail)


def _alone(name: str, examples: int, precision: Any) -> Result:
    """A gradient over all data at the default chunk."""
    posterior = posterior_of(name, examples, precision)
    one = stacked(posterior, 1)
    seconds = interleaved({"one": lambda: ascend(posterior, one, 3)}, rounds=3)["one"] / 3
    detail = {"examples": examples, "chunk": posterior.chunk, "ms per gradient": round(seconds * 1e3, 3)}
    ratio = seconds * 1e3 / MILLISECONDS[name]
    return Result(f"{name} in {precision}: gradient / {MILLISECONDS[name]:.0f} ms", ratio, 1.0, detail)


def _leapfrogs(precision: Any, chains: int, examples: int = 60_000) -> Result:
    """The steps of HMC as a run has them, on MNIST where it is installed: products of images, most of whose
    pixels are zero, take less power than those of noise, and power is what limits an accelerator."""
    posterior, steps = mnist_sized(examples, precision=precision), 400 // chains
    method = HMC(
        step_size=1e-5, trajectory=steps * 1e-5, burn_in=0, draws=1, chains=chains, adapt=False, jitter=0.0
    )
    seconds = interleaved({"hmc": Bare(method, posterior, steps).block}, rounds=5)["hmc"]
    rate = chains * steps / seconds
    detail = {"examples": examples, "chains": chains, "steps a second, of all chains": round(rate, 1)}
    aim = LEAPFROGS[precision]
    return Result(f"{aim:,.0f} / leapfrog steps of 784-512-10 in {precision}", aim / rate, 1.0, detail)


@functools.partial(jax.jit, compiler_options=LOOPS_ON_DEVICE)
def train(posterior: Posterior, members: Any, steps: int) -> Any:
    """Steps of mini-batches of 128, other rows for every member."""

    def one(variables: Any, key: jax.Array) -> Any:
        rows = jax.random.randint(key, (128,), 0, posterior.size)
        gradient, _, stats = posterior.minibatch_gradient(variables, rows, key)
        params = jax.tree.map(lambda w, g: w + 1e-9 * g, variables["params"], gradient)
        return {"params": params, "stats": stats}

    def step(i: Any, variables: Any) -> Any:
        count = jax.tree.leaves(variables)[0].shape[0]
        keys = jax.random.split(jax.random.fold_in(jax.random.key(1), i), count)
        return jax.vmap(one)(variables, keys)

    return jax.lax.fori_loop(0, steps, step, members)


def _fleet(name: str, count: int, on_cpu: bool) -> Result:
    steps = 20 if on_cpu else 200
    posterior = posterior_of(name, 2_000 if on_cpu else 60_000, "float32" if on_cpu else "bf16")
    many, one = stacked(posterior, count), stacked(posterior, 1)
    seconds = interleaved(
        {"together": lambda: train(posterior, many, steps), "one": lambda: train(posterior, one, steps)}, 3
    )
    detail = {
        "batch": 128,
        "precision": posterior.precision,
        "million images a second": round(count * steps * 128 / seconds["together"] / 1e6, 3),
        "alone": round(steps * 128 / seconds["one"] / 1e6, 3),
    }
    ratio = seconds["together"] / (count * seconds["one"])
    return Result(f"training {count} of {name} / one after another", ratio, 1 / 3, detail)
