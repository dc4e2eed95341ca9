"""What many processes cost, and what they send: ``python -m benchmarks.processes [--out FILE]``.

On a machine with two cores, two processes show overhead and no scaling.  Bytes are those of the compiled
programs: on one device, of the operations in the loop over steps.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

import symbayes as sb
from benchmarks.collectives import sent
from benchmarks.record import origin
from benchmarks.targets import mnist_sized
from benchmarks.timing import interleaved
from symbayes.engine import crew
from symbayes.engine.crew import everyone

ROUNDS, EXAMPLES, STEPS = 5, 100, 60
METHODS: dict[str, Any] = {
    "hmc": sb.HMC(1e-4, trajectory=6e-3, burn_in=0, draws=4, chains=2, adapt=False),
    "ensemble": sb.DeepEnsemble(1e-3, epochs=240, batch=100, chains=2),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=__doc__)
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    parser.add_argument("--worker", nargs=3, metavar=("DEED", "NUMBER/COUNT", "PORT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        _work(*arguments.worker)
        return
    results: dict[str, Any] = {}
    for deed, count, devices in (
        ("overhead", 1, 1),
        ("sent", 1, 4),
        ("seconds", 1, 2),
        ("seconds", 2, 1),
    ):
        name = deed if deed != "seconds" else f"seconds, {count} x {devices} devices"
        results[name] = _started(deed, count, devices)
        print(json.dumps({name: results[name]}, indent=2), flush=True)
    if arguments.out:
        _write(arguments.out, results)


def _started(deed: str, count: int, devices: int) -> Any:
    """What the first of so many processes found."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    flags = f"--xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "benchmarks.processes", "--worker", deed]
    processes = [
        subprocess.Popen(
            [*command, f"{number}/{count}", str(port)], env=environment, stdout=subprocess.PIPE, text=True
        )
        for number in range(count)
    ]
    answers = [process.communicate()[0] for process in processes]
    return json.loads(answers[0].splitlines()[-1])


def _work(deed: str, which: str, port: str) -> None:
    number, count = map(int, which.split("/"))
    jax.distributed.initialize(f"localhost:{port}", count, number, cluster_detection_method="deactivate")
    found = {"overhead": overhead, "sent": lambda: sent(METHODS), "seconds": seconds}[deed]()
    print("\n" + json.dumps(found))


def overhead() -> dict[str, Any]:
    """One process that talks to itself through the coordination service, on a mesh of one device, against a
    run that knows of neither; blocks of about half a second.  In CPU seconds, which other work on the machine
    does not change."""

    class Talking(crew.Crew):
        alone = False

        def __init__(self) -> None:
            super().__init__(2)
            self.count = 1

    @contextlib.contextmanager
    def joined(mesh: Any) -> Iterator[crew.Crew]:
        yield Talking() if mesh is not None else crew.Crew()

    sys.modules["symbayes.engine.run"].joined = joined
    posterior, mesh = mnist_sized(EXAMPLES), sb.make_mesh(2)
    placed = posterior.spread(mesh)

    def without(method: Any, store: Path) -> None:
        sb.run(method, posterior, store=store, block_steps=STEPS, progress=False)

    def talking(method: Any, store: Path) -> None:
        sb.run(method, placed, store=store, mesh=mesh, block_steps=STEPS, progress=False)

    found = {}
    for name, method in METHODS.items():
        work = {
            "with": lambda method=method: _stored(talking, method),
            "without": lambda method=method: _stored(without, method),
        }
        taken = interleaved(work, ROUNDS, time.process_time)
        ratio = round(taken["with"] / taken["without"], 3)
        found[name] = {
            "ratio": ratio,
            "at_most": 1.02,
            "met": ratio <= 1.02,
            "CPU seconds": {kind: round(value, 3) for kind, value in taken.items()},
        }
    return found | {"milliseconds that a message takes": _message()}


def _message() -> float:
    """Which a block waits for, beside what it computes."""
    talking, count = crew.Crew(2), 60
    begin = time.perf_counter()
    for _ in range(count):
        talking.asked_to_stop()
        talking.said((True, False))
    return round(1000 * (time.perf_counter() - begin) / count, 3)


def seconds() -> dict[str, Any]:
    """A run on two devices, of which HMC shares the data and the ensemble the chains."""
    found = {}
    for name, method in METHODS.items():
        mesh = sb.make_mesh(2, data=2 if name == "hmc" else 1)
        posterior = mnist_sized(EXAMPLES).spread(mesh)

        def run(method: Any, store: Path, posterior: Any = posterior, mesh: Any = mesh) -> None:
            store = Path(everyone().said(str(store)))
            sb.run(method, posterior, store=store, mesh=mesh, block_steps=STEPS, progress=False)
            everyone().gathered("done", True)  # The folder goes when all have read it.

        timed = {"run": functools.partial(_stored, run, method)}
        found[name] = round(interleaved(timed, 2)["run"], 3)
    return found


def _stored(run: Callable[[Any, Path], None], method: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(method, Path(folder) / "run")


def _write(out: Path, results: dict[str, Any]) -> None:
    record = {
        **origin("benchmarks.processes"),
        "note": "several processes on one machine show what the machinery costs, and nothing of scaling",
        "results": results,
    }
    out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
