"""Where blocks go: a run folder, or memory.

Of several processes one writes the folder, with one journal and one lock, and the others read it.  A shard
per process would spare bringing the draws together, but a folder on a network has one server behind it in any
case: many writers add files and waiting for the slowest, and no bandwidth.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symbayes.draws import Draws, Run, RunError, Writer, files
from symbayes.draws.draws import MemorySegment
from symbayes.draws.joining import concatenated, side_by_side
from symbayes.engine import states
from symbayes.engine.crew import Crew

PATIENCE = 50
"""Tenths of a second that a file system shared over a network may take to show what another host wrote."""


class MemorySink:
    """Keeps blocks in memory, by groups of chains; what is only needed to resume is dropped."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.found: dict[str, np.ndarray] = {}
        self._segments: dict[int, list[MemorySegment]] = {}
        self._traces: dict[int, list[Mapping[str, np.ndarray]]] = {}
        self._fitted: dict[int, dict[str, np.ndarray]] = {}
        self._observed: dict[str, Any] = {}

    @property
    def blocks(self) -> int:
        return len(self.entries)

    @property
    def draws(self) -> Draws:
        return Draws(tuple(side_by_side(list(self._segments.values()))), self._observed)

    @property
    def traces(self) -> dict[str, np.ndarray]:
        return concatenated((concatenated(parts, axis=1) for parts in self._traces.values()), axis=0)

    @property
    def distribution(self) -> dict[str, np.ndarray] | None:
        return concatenated(self._fitted.values(), axis=0) or None

    def fitted(self, group: int) -> dict[str, np.ndarray] | None:
        return self._fitted.get(group)

    @property
    def gradients(self) -> float:
        return sum((entry["gradients"] for entry in self.entries), 0.0)

    def state(self) -> dict[str, np.ndarray]:
        raise AssertionError("a run in memory is never resumed")

    def commit(self, draws: Mapping[str, Any], count: int, **parts: Any) -> None:
        group = (parts.get("cursor") or {}).get("group", 0)
        if count:
            self._segments.setdefault(group, []).append(MemorySegment(draws, count))
        if parts.get("traces"):
            self._traces.setdefault(group, []).append(parts["traces"])
        if parts.get("distribution") is not None:
            self._fitted[group] = dict(parts["distribution"])
        if parts.get("state") is not None:
            self.found = states.shared(parts["state"])
        kept = {"metrics": dict(parts.get("metrics") or {}), "state": parts.get("state") is not None}
        kept |= {"gradients": parts.get("gradients", 0.0)}
        self.entries.append({"block": self.blocks, **kept})

    def save_observed(self, name: str, arrays: Mapping[str, Any]) -> None:
        self._observed[name] = dict(arrays)


class Follower:
    """Of a folder that another process writes: reads what is committed, and remembers how far the run is.

    `blocks` is how many are committed: a file system shared over a network may tell of older times at first.
    """

    def __init__(self, path: str | Path, blocks: int) -> None:
        self._path = path
        for _ in range(PATIENCE):
            try:
                self.entries = list(Run(path).entries)
            except RunError:
                self.entries = []
            if len(self.entries) == blocks:
                return
            time.sleep(0.1)
        raise RunError(
            f"{path} has {len(self.entries)} blocks here, but {blocks} for process 0: wait, and run again"
        )

    @property
    def blocks(self) -> int:
        return len(self.entries)

    @property
    def gradients(self) -> float:
        return sum((entry["gradients"] for entry in self.entries), 0.0)

    @property
    def draws(self) -> Draws:
        return Run(self._path).draws

    @property
    def traces(self) -> dict[str, np.ndarray]:
        return Run(self._path).traces

    @property
    def distribution(self) -> dict[str, np.ndarray] | None:
        return Run(self._path).distribution

    def fitted(self, group: int) -> dict[str, np.ndarray] | None:
        return Run(self._path).fitted(group)

    def state(self) -> dict[str, np.ndarray]:
        return Run(self._path).state()

    def commit(self, draws: Mapping[str, Any], count: int, **parts: Any) -> None:
        known = {name: parts.get(name) for name in ("cursor", "plan", "metrics", "gradients")}
        self.entries.append({"block": self.blocks, **known, "state": parts.get("state") is not None})

    def save_observed(self, name: str, arrays: Mapping[str, Any]) -> None:
        """The other process does it."""


Sink = Writer | MemorySink | Follower
"""Takes the blocks of a run."""


@contextlib.contextmanager
def sink(
    store: str | Path | None, config: Mapping[str, Any], grows: Collection[str], crew: Crew | None = None
) -> Iterator[Any]:
    """A folder where one is named, which of several processes the first one writes; else memory."""
    crew = crew or Crew()
    if store is None:
        yield MemorySink()
    elif crew.leads:
        with Writer.open(store, config, grows) as run:
            crew.said(run.blocks)
            crew.gathered("ready", True)  # One that could not open it says so here, and not amid a block.
            yield run
            crew.said()  # The others may read it now.
    else:
        follower = Follower(store, crew.said())
        crew.gathered("ready", True)
        yield follower
        crew.said()


def require_shared(crew: Crew, store: str | Path) -> None:
    """Refuse a folder that not all processes see, before anything of the run is written."""
    folder = Path(store).absolute()
    up, place = (0, folder) if (folder / "config.json").exists() else _above(folder)
    token = f".symbayes-{secrets.token_hex(8)}"
    if crew.leads:
        files.write_bytes(place / token, b"")
    try:
        up, token = crew.said((up, token))
        place = [folder, *folder.parents][up]
        seen = crew.gathered("sees", crew.leads or _appears(place / token))
    finally:
        if crew.leads:
            (place / token).unlink(missing_ok=True)
    if blind := [number for number, sees in enumerate(seen) if not sees]:
        raise RunError(
            f"process {blind[0]} does not see what process 0 writes to {place}: "
            "give a folder on a file system that all processes share"
        )


def _above(folder: Path) -> tuple[int, Path]:
    """The closest folder above that is there, and how many levels up."""
    return next((n, path) for n, path in enumerate(folder.parents, 1) if path.is_dir())


def _appears(path: Path) -> bool:
    """Whether a file is there, or comes soon."""
    for _ in range(PATIENCE):
        if path.exists():
            return True
        time.sleep(0.1)
    return False
