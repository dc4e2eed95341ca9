"""Finding the group of ResNet-18, with nothing compiled before: the one benchmark in seconds."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp

import symbayes as sb
from benchmarks.timing import Result
from symbayes import symmetry, trees

SECONDS = 5.0


def run() -> list[Result]:
    network = sb.networks.make("resnet18", 10)
    x = jnp.ones((1, 32, 32, 3))
    variables = network.init(jax.random.key(0), x)
    group, seconds = None, []
    for _ in range(3):
        jax.clear_caches()
        begin = time.perf_counter()
        group = symmetry.discover(network.apply, variables, x)
        seconds.append(time.perf_counter() - begin)
    detail = {
        "parameters": trees.size(variables["params"]),
        "seconds": round(min(seconds), 2),
        "group": repr(group),
    }
    return [Result(f"discovery of ResNet-18 / {SECONDS:.0f} s", min(seconds) / SECONDS, 1.0, detail)]
