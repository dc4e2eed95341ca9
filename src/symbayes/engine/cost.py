"""What a run will take, told before it starts."""

from __future__ import annotations

import time
from dataclasses import dataclass

import jax

from symbayes import trees
from symbayes.engine.protocol import Method
from symbayes.posterior import Posterior


@dataclass(frozen=True)
class Cost:
    """Gradients over all data (of all chains), seconds for them, and bytes of draws."""

    gradients: float
    seconds: float
    disk: int

    def __str__(self) -> str:
        return (
            f"{self.gradients:,.0f} full-data gradients, about {duration(self.seconds)}, "
            f"{size(self.disk)} of draws"
        )


def estimate(method: Method, posterior: Posterior) -> Cost:
    """The cost of a run, from timing its first block.

    What is compiled for that serves the run too.
    """
    method = method.resolve(posterior)
    state = method.init(posterior, jax.random.key(0))

    def block() -> float:
        begin = time.perf_counter()
        made = method.advance(posterior, state, 0)
        jax.block_until_ready((made[0], made[1].variables))
        return time.perf_counter() - begin

    _, warm = block(), block()
    kept = method.kept() * trees.nbytes(jax.eval_shape(posterior.init, jax.random.key(0)))
    return Cost(
        gradients=method.gradients(posterior) * method.chains,
        seconds=warm * method.blocks(posterior),
        disk=kept * method.chains,
    )


def duration(seconds: float) -> str:
    """As a person says it: 12 s, 4 min, 3.5 h, 2.1 days."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} days"


def size(count: int | float) -> str:
    """As a person says it: 12 kB, 3.4 MB, 16 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
