"""The networks that are aligned: 784-512-512-512-10 on MNIST, trained once and kept in runs/bench."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import numpy as np
from safetensors.numpy import load_file, save_file

import symbayes as sb
from benchmarks.targets import mnist_sized
from symbayes import trees

HIDDEN = (512, 512, 512)
EXAMPLES = 20_480
METHOD = sb.DeepEnsemble(learning_rate=1e-3, epochs=1, batch=256, chains=1)
FOLDER = Path("runs/bench/mlp-3x512")


def sizes() -> list[int]:
    """How many networks are aligned jointly; SYMBAYES_BENCH_NETWORKS sets the largest number."""
    most = int(os.environ.get("SYMBAYES_BENCH_NETWORKS", "100"))
    return [count for count in (10, 30, 100) if count < most] + [most]


def fleet(count: int) -> dict[str, np.ndarray]:
    """The parameters of the first networks, by name, stacked; each was trained from its own seed."""
    members = [_member(seed) for seed in range(count)]
    return {name: np.stack([member[name] for member in members]) for name in members[0]}


def _member(seed: int) -> dict[str, np.ndarray]:
    file = FOLDER / f"{seed:03d}.safetensors"
    if not file.exists():
        # One by one: on a CPU, batched matrix products of many chains take longer.
        draws = sb.run(METHOD, mnist_sized(EXAMPLES, HIDDEN), seed=seed)
        found = trees.flatten(jax.tree.map(lambda leaf: np.asarray(leaf[0, 0]), draws.variables))
        FOLDER.mkdir(parents=True, exist_ok=True)
        save_file(found, file)
    return load_file(file)
