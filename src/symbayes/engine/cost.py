"""What a run will take, told before it starts."""

from __future__ import annotations

import time
from dataclasses import dataclass

import jax

from symbayes import trees
from symbayes.engine.protocol import Method
from symbayes.engine.start import fresh_variables
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
    """The cost of a run, from timing one gradient of all chains at once."""
    method = method.resolve(posterior)
    variables = fresh_variables(posterior, jax.random.key(0), method.chains)
    seconds = min(_time_gradient(posterior, variables) for _ in range(3))
    gradients = method.gradients(posterior)
    disk = method.kept() * trees.nbytes(variables)
    return Cost(gradients * method.chains, gradients * seconds, disk)


@jax.jit
def _gradients(posterior: Posterior, variables: dict) -> dict:
    return jax.vmap(posterior.gradient)(variables)


def _time_gradient(posterior: Posterior, variables: dict) -> float:
    jax.block_until_ready(_gradients(posterior, variables))
    begin = time.perf_counter()
    jax.block_until_ready(_gradients(posterior, variables))
    return time.perf_counter() - begin


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
