"""Moving 1,000 draws, each by its own element, against a plain copy of the same bytes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import symbayes as sb
from benchmarks.timing import Result, interleaved
from symbayes import symmetry, trees

DRAWS = 1_000
BLOCK = 250
"""Draws at a time where all would not fit."""


def run() -> list[Result]:
    return [
        _in_one_program((32,), 64),
        _in_blocks((512,), 784, DRAWS),
        _in_blocks((512, 512, 512), 784, BLOCK),
    ]


def _setting(hidden: tuple[int, ...], inputs: int, draws: int):
    """The group, parameters of normal draws by name, and an element for each."""
    network = sb.networks.mlp(hidden, 10)
    x = jnp.ones((2, inputs))
    variables = network.init(jax.random.key(0), x)
    group = symmetry.discover(network.apply, variables, x)
    rng = np.random.default_rng(0)
    flat = {
        name: rng.standard_normal((draws, *leaf.shape), dtype=np.float32)
        for name, leaf in trees.flatten(variables).items()
    }
    elements = jax.jit(jax.vmap(group.random_element))(jax.random.split(jax.random.key(1), draws))
    return group, flat, elements


def _result(name: str, seconds: dict[str, float], flat: dict[str, np.ndarray], times: int = 1) -> Result:
    size = times * sum(leaf.nbytes for leaf in flat.values()) / 1e6
    detail = {"MB": round(size, 1), **{key: round(times * value, 5) for key, value in seconds.items()}}
    return Result(f"acting / copying: {name}", seconds["act"] / seconds["copy"], 2.0, detail)


def _in_one_program(hidden: tuple[int, ...], inputs: int) -> Result:
    """Small networks, on the device."""
    group, flat, elements = _setting(hidden, inputs, DRAWS)
    draws = jax.tree.map(jnp.asarray, trees.unflatten(flat))
    act = jax.jit(jax.vmap(group.act))
    copy = jax.jit(lambda tree: jax.tree.map(jnp.copy, tree))
    seconds = interleaved({"act": lambda: act(elements, draws), "copy": lambda: copy(draws)}, rounds=50)
    return _result(f"{DRAWS} draws of {inputs}-{'-'.join(map(str, hidden))}-10", seconds, flat)


def _in_blocks(hidden: tuple[int, ...], inputs: int, draws: int) -> Result:
    """Large networks, in memory; one block is timed, and stands for all."""
    block = min(BLOCK, draws)
    group, flat, elements = _setting(hidden, inputs, block)

    def act() -> None:
        for name, leaf in flat.items():
            if group.sites[name]:
                group.act_each(name, elements, leaf)

    def copy() -> None:
        for name, leaf in flat.items():
            if group.sites[name]:
                leaf.copy()

    seconds = interleaved({"act": act, "copy": copy})
    return _result(
        f"{draws} draws of {inputs}-{'-'.join(map(str, hidden))}-10", seconds, flat, times=draws // block
    )
