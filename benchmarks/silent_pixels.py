"""Noise on pixels that are silent in training, and the prior that repairs what it does to HMC, on MNIST.

``python -m benchmarks.silent_pixels [--out FILE]``: the part `shift` of ``symbayes study truth`` on so few
images and so small a network that two processor cores suffice.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.record import origin
from symbayes.methods import HMC, DeepEnsemble
from symbayes.studies.desk import Desk
from symbayes.studies.truth.case import Case
from symbayes.studies.truth.shift import Shift

WHITENED = 0.3
"""Length of trajectories under the covariance prior, in units of its standard deviations."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.silent_pixels", description=__doc__)
    parser.add_argument("--data", default="mnist", help="dataset")
    parser.add_argument("--examples", type=int, default=1000, help="training images")
    parser.add_argument("--hidden", type=int, default=64, help="hidden units")
    parser.add_argument("--scales", type=float, nargs="+", default=[0.2, 1.0], help="of the prior")
    parser.add_argument("--draws", type=int, default=60, help="of each of two chains")
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    arguments = parser.parse_args()
    found = {f"{scale:g}": _shifted(arguments, scale) for scale in arguments.scales}
    print(json.dumps(found, indent=1))
    if arguments.out:
        record = {
            "what": "Accuracy on test images, unchanged and at five severities, by scale of the prior",
            **origin("benchmarks.silent_pixels"),
            "given": {name: value for name, value in vars(arguments).items() if name != "out"},
            "scales": found,
        }
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


def _shifted(asked: argparse.Namespace, scale: float) -> dict[str, Any]:
    flown: dict[str, Any] = {"step_size": 0.01 * scale, "trajectory": 0.5 * scale, "target_accept": 0.7}
    hmc = HMC(burn_in=asked.draws, draws=asked.draws, chains=2, **flown)
    case = Case(
        data=f"{asked.data}:examples={asked.examples},validation=0,test_examples=2000",
        network="mlp",
        hidden=(asked.hidden,),
        scale=scale,
        precision="float32",
        reference=hmc,
        sweep=hmc,
        ensemble=DeepEnsemble(epochs=60, chains=5, batch=100),
    )
    part = Shift(case, True, ("gaussian-noise", "dead-pixels"), WHITENED, 2000)
    with tempfile.TemporaryDirectory() as folder:
        found = part.work(Desk(Path(folder), tell=print))
    return {"answer": part.answer(found), **found}


if __name__ == "__main__":
    main()
