"""What saving, progress and observers add to a run of one-second blocks."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import jax

import symbayes as sb
from benchmarks.blocks import Bare
from benchmarks.targets import mnist_sized
from benchmarks.timing import Result, interleaved

BLOCKS = 20
ROUNDS = 4


def run() -> list[Result]:
    posterior = mnist_sized(4_000)
    test = posterior.train.x[:200]
    steps = _steps_per_second(posterior)
    method = sb.HMC(step_size=1e-5, trajectory=steps * 1e-5, burn_in=0, draws=BLOCKS, chains=2, adapt=False)
    observers = [sb.Moments(), sb.Predictions(test)]

    def bare() -> None:
        Bare(method, posterior, steps).all()

    def stored() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "run"
            sb.run(method, posterior, store=store, observers=observers, progress=True, block_steps=steps)

    seconds = interleaved({"bare": bare, "stored": stored}, ROUNDS)
    detail = {"seconds per block": round(seconds["bare"] / BLOCKS, 2), "rounds": ROUNDS, "blocks": BLOCKS}
    return [Result("run with engine / bare blocks", seconds["stored"] / seconds["bare"], 1.03, detail)]


def _steps_per_second(posterior: sb.Posterior) -> int:
    method = sb.HMC(step_size=1e-5, trajectory=1e-3, burn_in=0, draws=1, chains=2, adapt=False)
    probe = Bare(method, posterior, 100)
    jax.block_until_ready(probe.block())
    begin = time.perf_counter()
    jax.block_until_ready(probe.block())
    return max(1, int(100 / (time.perf_counter() - begin)))
