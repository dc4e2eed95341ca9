"""A run on disk: configuration, shards of draws and traces, state, and the journal that commits them.

    config.json        what was run: method, posterior, checksums of the data, versions, seed
    draws/000007.safetensors   the draws of block 7, append-only; what all draws share is stored once
    traces/000007.safetensors  statistics of every unit of block 7, draws or not
    state/000007.safetensors   all that is needed to go on after block 7; the last one only
    distribution/000009.safetensors   what the method had fitted after block 9
    journal.jsonl      one checksummed line per committed block
    observed/          what observers gave at the end
    lock               held by the process that writes

Whatever is not in the journal does not exist.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symbayes import specs
from symbayes.draws import files, journal
from symbayes.draws.draws import Draws
from symbayes.draws.forward import FITTED, Forward
from symbayes.draws.joining import concatenated, side_by_side
from symbayes.draws.shards import RunError, ShardSegment, StoredFile


class Run:
    """A run folder, opened for reading.

    Where chains were worked on in groups, draws, traces and the distribution are those of the groups that are
    complete, side by side, or of the first one while there is no other.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not (self.path / "config.json").is_file():
            raise RunError(f"{self.path} is not a run: it has no config.json")
        try:
            self.config: dict[str, Any] = json.loads((self.path / "config.json").read_text())
            specs.require(isinstance(self.config, dict), "it holds no fields")
        except ValueError as error:
            raise RunError(f"{self.path}/config.json is damaged ({error}): restore it from a copy") from error
        self.entries, self._lengths = journal.read(self.path / "journal.jsonl")

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished"
        return f"Run({self.path}: {self.config['method']['kind']}, {state}, {self.draws!r})"

    @property
    def blocks(self) -> int:
        """How many blocks are committed."""
        return len(self.entries)

    @property
    def cursor(self) -> dict[str, int] | None:
        """How far the run is: phase, unit, piece, draws of each chain, and which group of chains; None before
        the first block."""
        return self.entries[-1]["cursor"] if self.entries else None

    @property
    def finished(self) -> bool:
        """Whether all units of all phases are done, of all chains; the last ones may have none."""
        units, cursor = self.config["units"], self.cursor
        if cursor is None:
            return False
        together = self.config.get("together")
        groups = 1 if together is None else math.ceil(self.config["method"]["chains"] / together)
        if cursor.get("group", 0) < groups - 1:
            return False
        return cursor["unit"] == units[cursor["phase"]] and not any(units[cursor["phase"] + 1 :])

    @property
    def metrics(self) -> list[dict[str, float]]:
        """A few numbers about every block."""
        return [entry["metrics"] for entry in self.entries]

    @property
    def gradients(self) -> float:
        """Gradients over all data that the run took so far, of all chains."""
        return sum((entry["gradients"] for entry in self.entries), 0.0)

    @property
    def traces(self) -> dict[str, np.ndarray]:
        """Statistics of every unit of the run, draws or not, each (chain, unit)."""
        return concatenated(
            (
                concatenated((self._read(entry["traces"]) for entry in group if entry["traces"]), axis=1)
                for group in self._groups()
            ),
            axis=0,
        )

    @property
    def distribution(self) -> dict[str, np.ndarray] | None:
        """The arrays of what the method fitted last, if anything."""
        fitted = [self.fitted(group_of(group[0])) for group in self._groups()]
        return concatenated((arrays for arrays in fitted if arrays is not None), axis=0) or None

    def fitted(self, group: int) -> dict[str, np.ndarray] | None:
        """The same of one group of chains, which need not be complete."""
        found = [entry["distribution"] for entry in self.entries if group_of(entry) == group]
        last = next((record for record in reversed(found) if record), None)
        return None if last is None else self._read(last)

    @property
    def draws(self) -> Draws:
        """The committed draws, read from disk when walked."""
        groups = [[self._segment(entry) for entry in group if entry["shard"]] for group in self._groups()]
        return Draws(side_by_side(groups), observed=self._observed(), path=self.path, forward=self.forward)

    def _groups(self) -> list[list[dict[str, Any]]]:
        """The entries of every group of chains that is to be seen."""
        groups = [list(entries) for _, entries in itertools.groupby(self.entries, key=group_of)]
        return groups if len(groups) < 2 or self.finished else groups[:-1]

    @property
    def forward(self) -> Forward:
        """How the draws predict."""
        kind = self.config.get("forward", "plain")
        return Forward.of(kind, self.distribution if kind in FITTED else None)

    def state(self) -> dict[str, np.ndarray]:
        """The arrays from which the run goes on."""
        record = next(entry["state"] for entry in reversed(self.entries) if entry["state"])
        return self._read(record)

    def _read(self, record: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return files.read_arrays(self._stored(record).verify())

    def _stored(self, record: Mapping[str, Any]) -> StoredFile:
        return StoredFile(self.path / record["file"], record["bytes"], record["sha256"])

    def _segment(self, entry: Mapping[str, Any]) -> ShardSegment:
        """The draws of a block that has some."""
        once = entry.get("once", {})
        homes = {name: self._stored(self.entries[home]["shard"]) for name, home in once.items()}
        return ShardSegment(self._stored(entry["shard"]), entry["draws"], homes)

    def _observed(self) -> dict[str, Any]:
        found = sorted((self.path / "observed").glob("*.safetensors"))
        return {path.stem: files.read_arrays(path) for path in found}


def group_of(entry: Mapping[str, Any]) -> int:
    """The group of chains that a block is of."""
    return entry["cursor"].get("group", 0)
