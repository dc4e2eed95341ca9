"""A process that draws two runs, made to be killed: ``python drawing.py FOLDER [SCALE]``.

Both runs have many blocks, so that there are many moments to be killed at.  Every run that is
finished already is read back, and the first that is not goes on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import symbayes as sb

STOPPED = 3
"""Exit status of a process that was asked to stop and did so after a block."""


def small() -> tuple[sb.Posterior, dict[str, Any]]:
    """About a hundred blocks of a few milliseconds."""
    methods = {
        "hmc": (sb.HMC(0.01, trajectory=0.05, burn_in=10, draws=90, chains=2), 10),
        "ensemble": (sb.DeepEnsemble(0.01, epochs=25, batch=32, chains=2), 2),
    }
    return _posterior(hidden=6, examples=128), methods


def demo() -> tuple[sb.Posterior, dict[str, Any]]:
    """All digits, thirty-two hidden units, four chains."""
    methods = {
        "hmc": (sb.HMC(5e-3, trajectory=0.2, burn_in=20, draws=180, chains=4), 100),
        "ensemble": (sb.DeepEnsemble(epochs=150, chains=4), 20),
    }
    return _posterior(hidden=32, examples=None), methods


SCALES = {"small": small, "demo": demo}


def _posterior(hidden: int, examples: int | None) -> sb.Posterior:
    return sb.Posterior(
        sb.networks.mlp(hidden=(hidden,), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(scale=0.5),
        sb.data.load("digits").train[:examples],
    )


def draw(folder: Path, scale: str) -> None:
    """Draw every run into its own folder below `folder`."""
    posterior, methods = SCALES[scale]()
    for name, (method, block_steps) in methods.items():
        sb.run(method, posterior, store=folder / name, observers=[sb.Moments()], block_steps=block_steps)


if __name__ == "__main__":
    try:
        draw(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "small")
    except KeyboardInterrupt as stopped:  # sb.Stopped, or between the runs
        print(stopped)
        sys.exit(STOPPED)
