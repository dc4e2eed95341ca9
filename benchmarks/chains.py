"""Many networks at once against one after another: full gradients, and training by mini-batches."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from benchmarks.timing import Result, interleaved
from symbayes import Posterior, data, likelihoods, networks, priors
from symbayes.engine.loop import LOOPS_ON_DEVICE

NETWORKS = {
    "784-512-10": (networks.mlp(hidden=(512,), outputs=10), (28, 28, 1)),
    "LeNet": (networks.lenet(), (28, 28, 1)),
    "ResNet-20-FRN": (networks.resnet20_frn(), (32, 32, 3)),
}


def run() -> list[Result]:
    on_cpu = jax.default_backend() == "cpu"
    examples = {"784-512-10": 2_000, "LeNet": 500, "ResNet-20-FRN": 20} if on_cpu else {}
    chains = {"784-512-10": 4, "LeNet": 4, "ResNet-20-FRN": 2}
    gradients = [
        _gradients(name, examples.get(name, 60_000 if name != "ResNet-20-FRN" else 50_000), chains[name], low)
        for name in NETWORKS
        for low in (("float32",) if on_cpu else ("tf32", "bf16"))
    ]
    fleet = {"784-512-10": 16} if on_cpu else {"LeNet": 256}
    return gradients + [_fleet(name, networks, on_cpu) for name, networks in fleet.items()]


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
    return Result(f"{chains} chains of {name} in {precision} / one after another", ratio, 1.05, detail)


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
