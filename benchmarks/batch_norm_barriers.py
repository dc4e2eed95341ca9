"""The barrier between two ResNets with batch norm that were trained apart on MNIST.

By how they are aligned, and by what becomes of the running statistics:
``python -m benchmarks.batch_norm_barriers [--out FILE]``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import jax

import symbayes as sb
from benchmarks.__main__ import _commit
from symbayes import trees
from symbayes.cli import main as symbayes
from symbayes.networks import checkpoints

WAYS = [("weights", "recompute"), ("activations", "recompute"), ("weights", "interpolate")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch_norm_barriers", description=__doc__)
    parser.add_argument("--width", type=int, default=8, help="channels of the first stage")
    parser.add_argument("--examples", type=int, default=10_000, help="training images, seen once")
    parser.add_argument("--max-examples", type=int, default=500, help="images on which losses are taken")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = _barriers(Path(folder), arguments)
    print(json.dumps(found, indent=1))
    if arguments.out:
        given = {name: value for name, value in vars(arguments).items() if name != "out"}
        record = {
            "what": "Two ResNet-18 with batch norm trained for one epoch on MNIST: test barriers in nats",
            "command": "python -m benchmarks.batch_norm_barriers "
            + " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items()),
            "commit": _commit(),
            "hardware": f"{jax.devices()[0].device_kind}, {os.cpu_count()} cores, {platform.machine()}",
            "versions": {"python": platform.python_version(), "jax": jax.__version__},
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            **found,
        }
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


def _barriers(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    what = ["--network", "resnet18", "--option", f"width={asked.width}", "--data", "mnist"]
    drawn = ["--epochs", "1", "--batch", "50", "--chains", "2", "--learning-rate", "0.002"]
    some = ["--examples", str(asked.examples), "--seed", str(asked.seed), "--no-estimate"]
    _run("sample", "ensemble", *what, *drawn, *some, "--store", str(folder / "run"))
    draws = sb.Run(folder / "run").draws
    files = [folder / "a.safetensors", folder / "b.safetensors"]
    for chain, path in enumerate(files):
        checkpoints.export(trees.index(draws.variables, (chain, 0)), path)
    found: dict[str, Any] = {}
    for by, statistics in WAYS:
        how = ["--by", by, "--statistics", statistics, "--max-examples", str(asked.max_examples)]
        out = folder / f"{by}-{statistics}.json"
        _run("barrier", *map(str, files), *what, *how, "--steps", "11", "--json", str(out))
        told = json.loads(out.read_text())
        for form in ("raw", "aligned"):
            name = "raw" if form == "raw" else by
            ends = told[form]["test"]
            found.setdefault(statistics, {})[name] = {
                "barrier": ends["barrier"],
                "drop": ends["drop"],
                "loss": [ends["loss"][place] for place in (0, 5, 10)],
            }
    return {"statistics": found}


def _run(*words: str) -> None:
    with contextlib.redirect_stdout(None):
        code = symbayes(list(words))
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
