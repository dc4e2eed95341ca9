"""Where blocks go: a run folder, or memory."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symbayes.draws import Draws, Run
from symbayes.draws.draws import MemorySegment
from symbayes.engine import states


class MemorySink:
    """Keeps blocks in memory; what is only needed to resume is dropped."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.distribution: dict[str, np.ndarray] | None = None
        self.found: dict[str, np.ndarray] = {}
        self._segments: list[MemorySegment] = []
        self._traces: dict[str, list[np.ndarray]] = {}
        self._observed: dict[str, Any] = {}

    @property
    def blocks(self) -> int:
        return len(self.entries)

    @property
    def draws(self) -> Draws:
        return Draws(tuple(self._segments), self._observed)

    @property
    def traces(self) -> dict[str, np.ndarray]:
        return {name: np.concatenate(parts, axis=1) for name, parts in sorted(self._traces.items())}

    @property
    def gradients(self) -> float:
        return sum((entry["gradients"] for entry in self.entries), 0.0)

    def state(self) -> dict[str, np.ndarray]:
        raise AssertionError("a run in memory is never resumed")

    def commit(self, draws: Mapping[str, Any], count: int, **parts: Any) -> None:
        if count:
            self._segments.append(MemorySegment(draws, count))
        for name, array in (parts.get("traces") or {}).items():
            self._traces.setdefault(name, []).append(array)
        if parts.get("distribution") is not None:
            self.distribution = dict(parts["distribution"])
        if parts.get("state") is not None:
            self.found = states.shared(parts["state"])
        kept = {"metrics": dict(parts.get("metrics") or {}), "state": parts.get("state") is not None}
        kept |= {"gradients": parts.get("gradients", 0.0)}
        self.entries.append({"block": self.blocks, **kept})

    def save_observed(self, name: str, arrays: Mapping[str, Any]) -> None:
        self._observed[name] = dict(arrays)


Sink = Run | MemorySink
"""Takes the blocks of a run."""


def sink(
    store: str | Path | None, config: Mapping[str, Any], grows: Collection[str]
) -> contextlib.AbstractContextManager[Any]:
    """A folder where one is named, else memory."""
    return contextlib.nullcontext(MemorySink()) if store is None else Run.write(store, config, grows)
