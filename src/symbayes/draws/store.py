"""A run on disk: configuration, shards of draws and traces, state, and the journal that commits them.

    config.json        what was run: method, posterior, checksums of the data, versions, seed
    draws/000007.safetensors   the draws of block 7, append-only; what all draws share is stored once
    traces/000007.safetensors  statistics of every unit of block 7, draws or not
    state/000007.safetensors   all that is needed to go on after block 7; the last one only
    distribution/000009.safetensors   what the method had fitted after block 9
    journal.jsonl      one checksummed line per committed block
    observed/          what observers gave at the end
    lock               held by the process that writes

A block is committed by its journal line, written after its files are flushed.  Whatever is not in
the journal does not exist.  Not every line has a state: a run that was stopped goes back to the last
line that has one, and makes what came after it again.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symbayes import specs
from symbayes.draws import files, journal
from symbayes.draws.draws import Draws
from symbayes.draws.folder import locked, require_run_or_empty
from symbayes.draws.forward import FITTED, Forward
from symbayes.draws.joining import concatenated, side_by_side
from symbayes.draws.shards import RunError, ShardSegment, Steady, StoredFile, without_repeats
from symbayes.specs import Recorded
from symbayes.trees import Array

PARTS = ("draws", "traces", "distribution", "state")
"""Folders with files of single blocks."""

INFORMATIVE = ("versions", "created", "devices", "processes", "about", "derived_from")
"""Parts of a configuration that may differ when a run is resumed."""


class Run:
    """A run folder, opened for reading; `write` opens one for writing.

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
        self._steady: Steady | None = None

    @classmethod
    @contextlib.contextmanager
    def write(cls, path: str | Path, config: Recorded, grows: Collection[str] = ()) -> Iterator[Run]:
        """The run in this folder, made if need be, locked against other writers.

        An existing run must have the same configuration, but that the numbers named in `grows` (as in
        ``method.draws``) may be larger now: then it is extended.  It goes on after the last block whose
        state is stored.
        """
        folder = Path(path)
        require_run_or_empty(folder)
        files.make_folders(folder)
        with locked(folder):
            run = cls(folder) if (folder / "config.json").exists() else _created(folder, config)
            run._require_whole()
            if not run.entries and run._differences(config):
                # Without a committed block nothing is lost: a run that failed at its start may be corrected.
                run = _created(folder, config)
            run._require_same(config, grows)
            run._go_back()
            yield run

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
        fitted = [self.fitted(_group(group[0])) for group in self._groups()]
        return concatenated((arrays for arrays in fitted if arrays is not None), axis=0) or None

    def fitted(self, group: int) -> dict[str, np.ndarray] | None:
        """The same of one group of chains, which need not be complete."""
        found = [entry["distribution"] for entry in self.entries if _group(entry) == group]
        last = next((record for record in reversed(found) if record), None)
        return None if last is None else self._read(last)

    @property
    def draws(self) -> Draws:
        """The committed draws, read from disk when walked."""
        groups = [[self._segment(entry) for entry in group if entry["shard"]] for group in self._groups()]
        return Draws(side_by_side(groups), observed=self._observed(), path=self.path, forward=self.forward)

    def _groups(self) -> list[list[dict[str, Any]]]:
        """The entries of every group of chains that is to be seen."""
        groups = [list(entries) for _, entries in itertools.groupby(self.entries, key=_group)]
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

    def commit(
        self,
        draws: Mapping[str, np.ndarray],
        count: int,
        *,
        cursor: Mapping[str, int],
        state: Mapping[str, Array] | None = None,
        traces: Mapping[str, Array] | None = None,
        distribution: Mapping[str, Array] | None = None,
        metrics: Mapping[str, float] | None = None,
        plan: Mapping[str, int] | None = None,
        gradients: float = 0.0,
    ) -> None:
        """Make the next block durable: its files, then the journal line.

        Args:
            draws: arrays (chain, draw, ...) by name.
            count: how many draws of each chain they are; none is stored of zero.
            cursor: how far the run is after this block.
            state: what is needed to go on from here, if it is to be stored.
            traces: statistics of every unit, (chain, unit).
            distribution: what was fitted, if anything.
            metrics: a few numbers to be shown.
            plan: how the phase is cut into blocks.
            gradients: over all data, how many the block took of all chains.
        """
        block = self.blocks
        if self.entries and _group(self.entries[-1]) != cursor.get("group", 0):
            self._steady = {}
        written, once, steady = without_repeats(draws if count else {}, block, self._last_steady())
        parts = {
            "shard": ("draws", written if count else None),
            "traces": ("traces", traces or None),
            "distribution": ("distribution", distribution),
            "state": ("state", state),
        }
        entry = {
            "block": block,
            "draws": count,
            "once": once,
            "cursor": dict(cursor),
            "plan": dict(plan or {}),
            "gradients": gradients,
            "metrics": dict(metrics or {}),
            **{
                kind: None if arrays is None else self._write(f"{folder}/{block:06d}.safetensors", arrays)
                for kind, (folder, arrays) in parts.items()
            },
        }
        length = journal.append(self.path / "journal.jsonl", entry, self._lengths[-1] if self.entries else 0)
        self.entries.append(entry)
        self._lengths.append(length)
        self._steady = steady if count else self._steady
        if state is not None:
            for old in (self.path / "state").glob("*.safetensors"):
                if old.name != f"{block:06d}.safetensors":
                    old.unlink()

    def save_observed(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Keep what an observer gave at the end."""
        files.write_bytes(self.path / "observed" / f"{name}.safetensors", *files.pack(arrays))

    def _write(self, name: str, arrays: Mapping[str, Array]) -> dict[str, Any]:
        content = files.pack(arrays)
        files.write_bytes(self.path / name, *content)
        return {"file": name, "bytes": files.size(content), "sha256": files.sha256(*content)}

    def _read(self, record: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return files.read_arrays(self._stored(record).verify())

    def _stored(self, record: Mapping[str, Any]) -> StoredFile:
        return StoredFile(self.path / record["file"], record["bytes"], record["sha256"])

    def _segment(self, entry: Mapping[str, Any]) -> ShardSegment:
        """The draws of a block that has some."""
        once = entry.get("once", {})
        homes = {name: self._stored(self.entries[home]["shard"]) for name, home in once.items()}
        return ShardSegment(self._stored(entry["shard"]), entry["draws"], homes)

    def _last_steady(self) -> Steady:
        """What did not change within the last block with draws of these chains, and which block holds it."""
        if self._steady is None:
            chains = [entry for entry in self.entries if _group(entry) == _group(self.entries[-1])]
            last = next((entry for entry in reversed(chains) if entry["shard"]), None)
            once = {} if last is None else last.get("once", {})
            first = None if last is None else self._segment(last)
            self._steady = {name: (home, first.read(name, slice(1))) for name, home in once.items() if first}
        return self._steady

    def _observed(self) -> dict[str, Any]:
        found = sorted((self.path / "observed").glob("*.safetensors"))
        return {path.stem: files.read_arrays(path) for path in found}

    def _differences(self, config: Mapping[str, Any]) -> list[str]:
        stored, given = (
            {key: value for key, value in side.items() if key not in INFORMATIVE}
            for side in (self.config, json.loads(json.dumps(config)))
        )
        return specs.differences(stored, given)

    def _require_same(self, config: Mapping[str, Any], grows: Collection[str]) -> None:
        """Refuse another configuration; take over one that only asks for more."""
        lines = self._differences(config)
        names = [line.partition(":")[0] for line in lines]
        if any(name not in grows or _at(config, name) < _at(self.config, name) for name in names):
            raise RunError(
                f"{self.path} holds a run of another configuration ({'; '.join(lines[:5])}): "
                "choose another folder, where it can begin from this run with start, or repeat it as it was"
            )
        if lines:
            self.config = {**config, "created": self.config["created"]}
            files.write_json(self.path / "config.json", self.config)

    def _committed(self) -> list[StoredFile]:
        """The files that entries name, of the states only the last."""
        records = [entry[kind] for entry in self.entries for kind in ("shard", "traces", "distribution")]
        records += [entry["state"] for entry in self.entries if entry["state"]][-1:]
        return [self._stored(record) for record in records if record]

    def _made(self) -> list[Path]:
        """Blocks' files that are there, committed or not."""
        return [path for part in PARTS for path in (self.path / part).glob("*.safetensors")]

    def _require_whole(self) -> None:
        """Refuse a run that has lost something: at most the next block is there without its line."""
        for file in self._committed():
            file.verify_size()
        if lost := [path for path in self._made() if path.stem > f"{self.blocks:06d}"]:
            raise RunError(
                f"{self.path}/journal.jsonl is damaged (it ends before {lost[0].name}): "
                "restore it from a copy"
            )

    def _go_back(self) -> None:
        """To the last block whose state is stored; what came after it is removed, and made again."""
        self._remove_uncommitted()
        while self.entries and not self.entries[-1]["state"]:
            # One line at a time, and then its files: a line without its files would be damage, and so would
            # be the files of several blocks without their lines.
            del self.entries[-1], self._lengths[-1]
            journal.cut(self.path / "journal.jsonl", self._lengths[-1] if self.entries else 0)
            self._remove_uncommitted()

    def _remove_uncommitted(self) -> None:
        """Files of blocks that no line names, and files that are not whole."""
        committed = {file.path for file in self._committed()}
        partial = [*self.path.glob("*.partial"), *self.path.glob("*/*.safetensors.partial")]
        for path in [*(path for path in self._made() if path not in committed), *partial]:
            path.unlink()


def _group(entry: Mapping[str, Any]) -> int:
    """The group of chains that a block is of."""
    return entry["cursor"].get("group", 0)


def _at(config: Mapping[str, Any], name: str) -> Any:
    """The value under a dotted name."""
    value: Any = config
    for key in name.split("."):
        value = value[key]
    return value


def _created(folder: Path, config: Mapping[str, Any]) -> Run:
    """A run without any block."""
    files.make_folders(*(folder / part for part in (*PARTS, "observed")))
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    files.write_json(folder / "config.json", {**config, "created": created})
    return Run(folder)
