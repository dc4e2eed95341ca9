"""The barrier between two ResNets with batch norm that were trained apart on MNIST.

By how they are aligned, and by what becomes of the running statistics:
``python -m benchmarks.batch_norm_barriers [--out FILE]``.  One pair differs much from the next, so several
are measured.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import symbayes as sb
from benchmarks.record import origin
from symbayes import trees
from symbayes.cli import main as symbayes
from symbayes.networks import checkpoints

WAYS = [("weights", "recompute"), ("activations", "recompute"), ("weights", "interpolate")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch_norm_barriers", description=__doc__)
    parser.add_argument("--width", type=int, default=8, help="channels of the first stage")
    parser.add_argument("--examples", type=int, default=10_000, help="training images, seen once")
    parser.add_argument("--max-examples", type=int, default=500, help="images on which losses are taken")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of two trainings each")
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        each = {seed: _barriers(Path(folder) / str(seed), arguments, seed) for seed in arguments.seeds}
    found = {"mean": _mean_barriers(list(each.values())), "seeds": each}
    print(json.dumps(found, indent=1))
    if arguments.out:
        record = {
            "what": "Two ResNet-18 with batch norm, each trained an epoch on MNIST: test barriers in nats",
            **origin("benchmarks.batch_norm_barriers"),
            "given": {name: value for name, value in vars(arguments).items() if name != "out"},
            **found,
        }
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


Found = dict[str, dict[str, Any]]
"""By what becomes of statistics, and by alignment."""


def _mean_barriers(each: Sequence[Found]) -> Found:
    return {
        statistics: {name: fmean(one[statistics][name]["barrier"] for one in each) for name in ways}
        for statistics, ways in each[0].items()
    }


def _barriers(folder: Path, asked: argparse.Namespace, seed: int) -> Found:
    what = ["--network", "resnet18", "--option", f"width={asked.width}", "--data", "mnist"]
    drawn = ["--epochs", "1", "--batch", "50", "--chains", "2", "--learning-rate", "0.002"]
    some = ["--examples", str(asked.examples), "--seed", str(seed), "--no-estimate"]
    _run("sample", "ensemble", *what, *drawn, *some, "--store", str(folder / "run"))
    draws = sb.Run(folder / "run").draws
    files = [folder / "a.safetensors", folder / "b.safetensors"]
    for chain, path in enumerate(files):
        checkpoints.export(trees.index(draws.variables, (chain, 0)), path)
    found: Found = {}
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
    return found


def _run(*words: str) -> None:
    with contextlib.redirect_stdout(None):
        code = symbayes(list(words))
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
