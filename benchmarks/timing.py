"""How times are taken: warm, synchronised, interleaved, the fewest seconds of several."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True)
class Result:
    """One benchmark: its ratio, what it may be at most, and what it was made of."""

    name: str
    ratio: float
    at_most: float | None
    detail: Mapping[str, Any]

    @property
    def met(self) -> bool | None:
        return None if self.at_most is None else self.ratio <= self.at_most


def interleaved(
    work: Mapping[str, Callable[[], Any]], rounds: int = 5, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Fewest seconds of each piece of work over some rounds; they take turns, so that a slow spell hits all,
    and whatever else the machine does only adds."""
    for function in work.values():
        jax.block_until_ready(function())
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, function in work.items():
            begin = clock()
            jax.block_until_ready(function())
            seconds[name].append(clock() - begin)
    return {name: min(values) for name, values in seconds.items()}
