"""One of several processes that draw two runs together: ``python together.py NUMBER COUNT PORT FOLDER DEED``.

The deed `draw` makes both runs; `everything` makes them, fails and stops on the way, and asks for what is to
be refused.  What each process was told is written to ``FOLDER/told-NUMBER.json``.
"""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

import symbayes as sb
from symbayes import specs
from symbayes.draws import Writer, files
from symbayes.engine.crew import SWEEP, Crew, everyone
from symbayes.engine.sinks import Follower

HMC = sb.HMC(0.01, trajectory=0.05, burn_in=3, draws=17, chains=2)
ENSEMBLE = sb.DeepEnsemble(0.01, epochs=5, batch=32, chains=4)
METHODS: dict[str, tuple[Any, dict[str, int]]] = {
    "hmc": (HMC, {"block_steps": 10}),
    "ensemble": (ENSEMBLE, {"block_steps": 4, "together": 2}),
}
"""With the steps of a block; the ensemble in two groups of chains."""


def posterior(mesh: Any = None, examples: slice = slice(126)) -> sb.Posterior:
    return sb.Posterior(
        sb.networks.mlp(hidden=(6,), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(scale=0.5),
        sb.data.load("digits").train[examples],
        chunk=50,
        mesh=mesh,
    )


def mesh(name: str, devices: Any = None) -> Any:
    """Two by two: HMC has its data across processes, and the ensemble its chains."""
    devices = np.array(jax.devices() if devices is None else devices).reshape(2, 2)
    return sb.make_mesh(2, list((devices.T if name == "hmc" else devices).flat), data=2)


def draw(name: str, store: Path | None, devices: Any = None, **other: Any) -> sb.Draws:
    method, blocks = METHODS[name]
    method = other.pop("method", method)
    on = other.pop("mesh", None) or mesh(name, devices)
    options = {"seed": 5, "observers": [sb.Moments()], **blocks, "mesh": on}
    given = other.pop("posterior", None) or posterior(on)
    return sb.run(method, given, store=store, **(options | other))


def told(deed: Callable[[], Any]) -> str:
    """How a deed ended, in words."""
    try:
        deed()
    except (Exception, sb.Stopped) as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def refusals(number: int, folder: Path) -> dict[str, str]:
    """What is refused before anything is written to `refused`."""
    at, four = folder / "refused", np.array(jax.devices()).reshape(4, 1)
    private = folder / f"private-{number}"
    private.mkdir()
    cases: dict[str, Callable[[], Any]] = {
        "seed": lambda: draw("hmc", at, seed=number),
        "method": lambda: draw("hmc", at, method=dataclasses.replace(HMC, step_size=0.01 + number / 1000)),
        "data": lambda: draw("hmc", at, posterior=posterior(examples=slice(number, 126 + number))),
        "version": lambda: _other_version(number, lambda: draw("hmc", at)),
        "folder": lambda: draw("hmc", private / "run"),
        "axes": lambda: draw("hmc", at, mesh=jax.sharding.Mesh(four, ("chain", "data"))),
        "left out": lambda: _three_processes(lambda: draw("hmc", at)),
        "other run": lambda: draw("hmc", folder / "hmc", seed=6),
        "groups": lambda: draw("ensemble", at, together=2 + number),
        "diverged": lambda: draw("ensemble", None, method=dataclasses.replace(ENSEMBLE, learning_rate=1e30)),
    }
    return {name: told(case) for name, case in cases.items()} | {"written": str(at.exists())}


def _other_version(number: int, deed: Callable[[], Any]) -> None:
    from symbayes.engine import record

    real = specs.installed_versions
    try:
        record.specs.installed_versions = lambda: real() | {"jax": f"0.0.{number}"}
        deed()
    finally:
        record.specs.installed_versions = real


def _three_processes(deed: Callable[[], Any]) -> None:
    real = jax.process_count
    try:
        jax.process_count = lambda: 3
        deed()
    finally:
        jax.process_count = real


def stumbling(number: int, folder: Path) -> list[str]:
    """HMC with a full disk at block 3, a Ctrl-C in the second process at block 4, and then to its end."""
    real, look = (Writer.commit, Follower.commit), Crew.asked_to_stop

    def full(self: Writer, *arrays: Any, **parts: Any) -> None:
        if self.blocks == 3:
            raise files.StorageError(28, "the disk is full: make room")
        real[0](self, *arrays, **parts)

    def interrupted(self: Follower, *arrays: Any, **parts: Any) -> None:
        real[1](self, *arrays, **parts)
        if self.blocks == 4:
            signal.raise_signal(signal.SIGINT)

    def patient(self: Crew) -> bool:
        """The leader waits for the other's hand, which on a busy machine comes late."""
        while not (asked := look(self)) and self._said > 9:
            time.sleep(0.01)
        return asked

    endings = []
    for writes, follows, looks in (
        (full, real[1], look),
        (real[0], interrupted, patient),
        (*real, look),
    ):
        # Methods are replaced in this process alone, which ends with the test.
        Writer.commit, Follower.commit, Crew.asked_to_stop = writes, follows, looks
        endings.append(told(lambda: draw("hmc", folder / "stumbling")))
    return endings


def many_messages() -> int:
    """More than are kept: those that all have heard are removed."""
    crew = everyone()
    return sum(crew.said(n if crew.leads else None) for n in range(2 * SWEEP + 3))


def main(number: int, count: int, port: str, folder: Path, deed: str) -> None:
    jax.distributed.initialize(
        f"localhost:{port}", count, number, heartbeat_timeout_seconds=10, shutdown_timeout_seconds=10
    )
    what: dict[str, Any] = {}
    for name in METHODS:
        draws = draw(name, folder / name)
        what[name] = {leaf: float(np.sum(v)) for leaf, v in sb.trees.flatten(draws.variables).items()}
    if deed == "everything":
        in_memory = draw("hmc", None)
        what["memory"] = {leaf: float(np.sum(v)) for leaf, v in sb.trees.flatten(in_memory.variables).items()}
        what["stumbling"] = stumbling(number, folder)
        what["refusals"] = refusals(number, folder)
        what["messages"] = many_messages()
    (folder / f"told-{number}.json").write_text(json.dumps(what))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), sys.argv[5])
