"""Pairwise mutual information of many networks: against a plain NumPy loop on a CPU, in seconds on a GPU.

The loop takes the definition pair by pair.  Beside it stands one that computes the entropy of each network
once.  On a GPU the case is that of 1,000 networks, 10,000 points and 100 classes, made on the device.
"""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import Result, interleaved
from symbayes.evaluate import pairwise_mutual_information

SMALL = (128, 1_000, 20)
FULL = (1_000, 10_000, 100)
SECONDS = 5.0


def run() -> list[Result]:
    return [_seconds()] if jax.default_backend() != "cpu" else [_against_numpy()]


def _against_numpy() -> Result:
    probs = np.random.default_rng(0).dirichlet(np.full(SMALL[2], 0.3), size=SMALL[:2]).astype(np.float32)
    work = {
        "tiles": lambda: pairwise_mutual_information(probs),
        "loop": lambda: _loop(probs),
        "loop, entropies once": lambda: _loop_once(probs),
    }
    np.testing.assert_allclose(work["tiles"](), _loop(probs), atol=1e-6)
    seconds = interleaved(work, rounds=3)
    detail = {name: f"{value:.3f} s" for name, value in seconds.items()}
    name = "pairwise mutual information / plain NumPy loop: {} networks, {} points, {} classes".format(*SMALL)
    return Result(name, seconds["tiles"] / seconds["loop"], 1 / 20, detail)


def _entropy(p: np.ndarray) -> float:
    return -float(np.sum(p * np.log(np.maximum(p, 1e-300)), axis=-1).mean())


def _loop(probs: np.ndarray) -> np.ndarray:
    p = probs.astype(np.float64)
    found = np.zeros((len(p), len(p)))
    for i, j in itertools.combinations(range(len(p)), 2):
        found[i, j] = _entropy((p[i] + p[j]) / 2) - (_entropy(p[i]) + _entropy(p[j])) / 2
        found[j, i] = found[i, j]
    return found


def _loop_once(probs: np.ndarray) -> np.ndarray:
    p = probs.astype(np.float64)
    own = [_entropy(each) for each in p]
    found = np.zeros((len(p), len(p)))
    for i, j in itertools.combinations(range(len(p)), 2):
        found[i, j] = found[j, i] = _entropy((p[i] + p[j]) / 2) - (own[i] + own[j]) / 2
    return found


def _seconds() -> Result:
    probs: Any = jax.jit(lambda key: jax.nn.softmax(3 * jax.random.normal(key, FULL)))(jax.random.key(0))
    probs = jax.block_until_ready(probs)
    some = pairwise_mutual_information(probs[:4, :100])
    np.testing.assert_allclose(some, _loop(np.asarray(probs[:4, :100])), atol=1e-6)
    seconds = interleaved({"tiles": lambda: pairwise_mutual_information(probs)}, rounds=2)["tiles"]
    stats = jax.devices()[0].memory_stats() or {}
    peak = stats.get("peak_bytes_in_use", 0) - jnp.size(probs) * 4
    detail = {"seconds": round(seconds, 3), "GB beside the probabilities, at most": round(peak / 1e9, 2)}
    name = f"pairwise mutual information of {FULL[0]:,} networks, {FULL[1]:,} points, {FULL[2]} classes / 5 s"
    return Result(name, seconds / SECONDS, 1.0, detail)
