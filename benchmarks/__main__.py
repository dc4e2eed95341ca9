"""Run the benchmarks and print their ratios."""

from __future__ import annotations

import argparse
import functools
import json
from dataclasses import asdict
from pathlib import Path

import jax
from rich.console import Console
from rich.table import Table

from benchmarks import (
    chains,
    engine_overhead,
    fleets,
    gradient_loop,
    memory,
    pairwise,
    peers,
    reduced,
    samplers,
    symmetry_acting,
    symmetry_alignment,
    symmetry_discovery,
)
from benchmarks.record import origin
from benchmarks.timing import Result
from symbayes import use_cores

BENCHMARKS = {
    "gradient_loop": gradient_loop.run,
    "chains": chains.run,
    "fleets": fleets.run,
    "peers": peers.run,
    "samplers": samplers.run,
    "reduced": reduced.run,
    "memory": memory.run,
    "pairwise": pairwise.run,
    "engine_overhead": engine_overhead.run,
    "symmetry_discovery": symmetry_discovery.run,
    "symmetry_acting": symmetry_acting.run,
    "symmetry_alignment": symmetry_alignment.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), default=list(BENCHMARKS))
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    parser.add_argument("--seconds", type=float, default=20.0, help="for which each sampler draws")
    parser.add_argument(
        "--limit",
        type=float,
        default=float("inf"),
        help="seconds after which these two begin no more",
    )
    parser.add_argument("--data", help="dataset on which the cost of reduced precision is measured")
    parser.add_argument("--cores", type=int, default=1, help="over which runs on a CPU spread their chains")
    arguments = parser.parse_args()
    if arguments.cores > 1:
        use_cores(arguments.cores)
    given = {
        "chains": functools.partial(chains.run, arguments.limit),
        "samplers": functools.partial(samplers.run, arguments.seconds, arguments.limit),
        "reduced": functools.partial(reduced.run, arguments.data),
    }
    # The same precision for all: left to itself, JAX takes another one on a GPU than on a CPU.
    jax.config.update("jax_default_matmul_precision", "float32")
    results: list[Result] = []
    for name in arguments.only:
        for result in given.get(name, BENCHMARKS[name])():
            results.append(result)
            if arguments.out:
                _write(arguments.out, results)
    Console(width=140).print(_table(results))


def _table(results: list[Result]) -> Table:
    table = Table(title="ratios, measured side by side in one run")
    for column in ("benchmark", "ratio", "at most", "", "made of"):
        table.add_column(column)
    for result in results:
        detail = ", ".join(f"{key} {value}" for key, value in result.detail.items())
        limit = "" if result.at_most is None else f"{result.at_most:.2f}"
        verdict = {True: "met", False: "[bold]missed[/bold]", None: ""}[result.met]
        table.add_row(result.name, f"{result.ratio:.3f}", limit, verdict, detail)
    return table


def _write(out: Path, results: list[Result]) -> None:
    record = {
        **origin("benchmarks"),
        "results": [{**asdict(result), "met": result.met} for result in results],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
