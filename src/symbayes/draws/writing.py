"""A run's folder, opened for writing by one process: blocks are committed, and what is not whole is removed.

A block is committed by its journal line, written after its files are flushed.  Not every line has a state: a
run that was stopped goes back to the last line that has one, and makes what came after it again.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symbayes import specs
from symbayes.draws import files, journal
from symbayes.draws.folder import locked, require_run_or_empty
from symbayes.draws.shards import RunError, Steady, StoredFile, without_repeats
from symbayes.draws.store import Run, group_of
from symbayes.specs import Recorded
from symbayes.trees import Array

PARTS = ("draws", "traces", "distribution", "state")
"""Folders with files of single blocks."""

INFORMATIVE = ("versions", "created", "devices", "processes", "about", "derived_from")
"""Parts of a configuration that may differ when a run is resumed."""


class Writer(Run):
    """A run folder, opened for writing."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._steady: Steady | None = None

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: str | Path, config: Recorded, grows: Collection[str] = ()) -> Iterator[Writer]:
        """The run in this folder, made if need be, locked against other writers.

        An existing run must have the same configuration, but that the numbers named in `grows` (as in
        ``method.draws``) may be larger now: then it is extended.  It goes on after the last block whose
        state is stored.
        """
        folder = Path(path)
        require_run_or_empty(folder)
        files.make_folders(folder)
        with locked(folder):
            run = cls(folder) if (folder / "config.json").exists() else cls._created(folder, config)
            run._require_whole()
            if not run.entries and run._differences(config):
                # Without a committed block nothing is lost: a run that failed at its start may be corrected.
                run = cls._created(folder, config)
            run._require_same(config, grows)
            run._go_back()
            yield run

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
        if self.entries and group_of(self.entries[-1]) != cursor.get("group", 0):
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

    @classmethod
    def _created(cls, folder: Path, config: Mapping[str, Any]) -> Writer:
        """A run without any block."""
        files.make_folders(*(folder / part for part in (*PARTS, "observed")))
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        files.write_json(folder / "config.json", {**config, "created": created})
        return cls(folder)

    def _last_steady(self) -> Steady:
        """What did not change within the last block with draws of these chains, and which block holds it."""
        if self._steady is None:
            chains = [entry for entry in self.entries if group_of(entry) == group_of(self.entries[-1])]
            last = next((entry for entry in reversed(chains) if entry["shard"]), None)
            once = {} if last is None else last.get("once", {})
            first = None if last is None else self._segment(last)
            self._steady = {name: (home, first.read(name, slice(1))) for name, home in once.items() if first}
        return self._steady

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


def _at(config: Mapping[str, Any], name: str) -> Any:
    """The value under a dotted name."""
    value: Any = config
    for key in name.split("."):
        value = value[key]
    return value
