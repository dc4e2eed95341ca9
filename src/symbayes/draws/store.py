"""A run on disk: configuration, shards of draws, state, metrics, and the journal that commits them.

    config.json        what was run: method, posterior, checksums of the data, versions, seed
    draws/000007.safetensors   the draws of block 7, append-only
    state/000007.safetensors   all that is needed to go on after block 7
    metrics.jsonl      one line of numbers per block
    journal.jsonl      one checksummed line per committed block
    observed/          what observers gave at the end
    lock               held by the process that writes

A block is committed by its journal line, written after its files are flushed.  Whatever is not in
the journal does not exist: it is removed and made again on resume.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symbayes import specs
from symbayes.draws import files, journal
from symbayes.draws.draws import Draws

INFORMATIVE = ("versions", "created", "devices", "about", "derived_from")
"""Parts of a configuration that may differ when a run is resumed."""


class RunError(RuntimeError):
    """A run folder that cannot be used as asked; the message says why and what to do."""


@dataclass(frozen=True)
class StoredFile:
    """A file that a journal line names."""

    path: Path
    bytes: int
    sha256: str

    def verify(self) -> Path:
        """The path, once size and checksum are known to be right."""
        self.verify_size()
        _verify_content(self, self.path.stat().st_mtime_ns)
        return self.path

    def verify_size(self) -> None:
        if not self.path.exists():
            raise RunError(f"{self.path} is missing: restore it from a copy, or draw the run anew elsewhere")
        if self.path.stat().st_size != self.bytes:
            raise RunError(
                f"{self.path} is damaged ({self.path.stat().st_size} bytes, {self.bytes} expected): "
                "restore it from a copy, or draw the run anew elsewhere"
            )


@functools.lru_cache(maxsize=4096)
def _verify_content(file: StoredFile, modified: int) -> None:
    """Compare the checksum, once for every time the file was modified."""
    if files.file_sha256(file.path) != file.sha256:
        raise RunError(
            f"{file.path} is damaged (its checksum does not match the journal): "
            "restore it from a copy, or draw the run anew elsewhere"
        )


@dataclass(frozen=True)
class ShardSegment:
    """The draws in one shard, read when asked for."""

    file: StoredFile
    draws: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        with files.open_arrays(self.file.verify()) as arrays:
            return {name: tuple(arrays.get_slice(name).get_shape()) for name in arrays.keys()}  # noqa: SIM118

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        with files.open_arrays(self.file.verify()) as arrays:
            part = arrays.get_slice(name)
            return part[:, draws] if len(part.get_shape()) == 2 else part[:, draws, rows]


class Run:
    """A run folder, opened for reading; `write` opens one for writing."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not (self.path / "config.json").is_file():
            raise RunError(f"{self.path} is not a run: it has no config.json")
        try:
            self.config: dict[str, Any] = json.loads((self.path / "config.json").read_text())
            specs.require(isinstance(self.config, dict), "it holds no fields")
        except ValueError as error:
            raise RunError(f"{self.path}/config.json is damaged ({error}): restore it from a copy") from error
        self.entries, self._length = journal.read(self.path / "journal.jsonl")
        self.metrics: list[dict[str, Any]] = self._read_metrics()

    @classmethod
    @contextlib.contextmanager
    def write(cls, path: str | Path, config: Mapping[str, Any]) -> Iterator[Run]:
        """The run in this folder, made if need be, locked against other writers.

        An existing run must have the same configuration; it goes on after its last committed block.
        """
        folder = Path(path)
        _require_run_or_empty(folder)
        files.make_folders(folder)
        with _locked(folder):
            run = cls(folder) if (folder / "config.json").exists() else _created(folder, config)
            run._require_whole()
            if run.entries:
                run._require_same(config)
            elif run._differences(config):
                # Without a committed block nothing is lost: a run that failed at its start may be corrected.
                run = _created(folder, config)
            run._remove_uncommitted()
            yield run

    @property
    def blocks(self) -> int:
        """How many blocks are committed."""
        return len(self.entries)

    @property
    def finished(self) -> bool:
        return self.blocks == self.config.get("blocks")

    @property
    def traces(self) -> dict[str, np.ndarray]:
        """Statistics of every unit of the run, draws or not, each (chain, unit)."""
        parts: dict[str, list[np.ndarray]] = {}
        for line in self.metrics:
            for name, value in line.items():
                if np.ndim(value) == 2:
                    parts.setdefault(name, []).append(np.asarray(value))
        return {name: np.concatenate(arrays, axis=1) for name, arrays in parts.items()}

    @property
    def draws(self) -> Draws:
        """The committed draws, read from disk when walked."""
        segments = [
            ShardSegment(self._stored(entry["shard"]), entry["draws"])
            for entry in self.entries
            if entry["shard"]
        ]
        return Draws(segments, observed=self._observed(), path=self.path)

    def state(self) -> dict[str, np.ndarray]:
        """The arrays from which the run goes on."""
        return files.read_arrays(self._stored(self.entries[-1]["state"]).verify())

    def commit(
        self, arrays: Mapping[str, Any], draws: int, state: Mapping[str, Any], metrics: Mapping[str, Any]
    ) -> None:
        """Make the next block durable: metrics, shard (if it has draws), state, then the journal line."""
        block = self.blocks
        before = self.entries[-1]["metrics_bytes"] if self.entries else 0
        record = {"block": block, **metrics}
        line = (json.dumps(record, sort_keys=True) + "\n").encode()
        journal.append_at(self.path / "metrics.jsonl", line, before)
        entry = {
            "block": block,
            "draws": draws,
            "shard": self._write(f"draws/{block:06d}.safetensors", arrays) if draws else None,
            "state": self._write(f"state/{block:06d}.safetensors", state),
            "metrics_bytes": before + len(line),
        }
        self._length = journal.append(self.path / "journal.jsonl", entry, self._length)
        self.entries.append(entry)
        self.metrics.append(record)
        for old in (self.path / "state").glob("*.safetensors"):
            if old.name != f"{block:06d}.safetensors":
                old.unlink()

    def save_observed(self, name: str, arrays: Mapping[str, Any]) -> None:
        """Keep what an observer gave at the end."""
        files.write_bytes(self.path / "observed" / f"{name}.safetensors", *files.pack(arrays))

    def _write(self, name: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
        content = files.pack(arrays)
        files.write_bytes(self.path / name, *content)
        return {"file": name, "bytes": files.size(content), "sha256": files.sha256(*content)}

    def _stored(self, record: Mapping[str, Any]) -> StoredFile:
        return StoredFile(self.path / record["file"], record["bytes"], record["sha256"])

    def _read_metrics(self) -> list[dict[str, Any]]:
        path = self.path / "metrics.jsonl"
        content = path.read_bytes() if path.exists() else b""
        length = self.entries[-1]["metrics_bytes"] if self.entries else 0
        try:
            records = [json.loads(line) for line in content[:length].splitlines()]
        except ValueError as error:
            raise RunError(f"{path} is damaged ({error}): restore it from a copy") from error
        if len(records) != len(self.entries):
            raise RunError(f"{path} has {len(records)} of {len(self.entries)} lines: restore it from a copy")
        return records

    def _observed(self) -> dict[str, Any]:
        found = sorted((self.path / "observed").glob("*.safetensors"))
        return {path.stem: files.read_arrays(path) for path in found}

    def _differences(self, config: Mapping[str, Any]) -> list[str]:
        stored, given = (
            {key: value for key, value in side.items() if key not in INFORMATIVE}
            for side in (self.config, json.loads(json.dumps(config)))
        )
        return specs.differences(stored, given)

    def _require_same(self, config: Mapping[str, Any]) -> None:
        if lines := self._differences(config):
            raise RunError(
                f"{self.path} holds a run of another configuration ({'; '.join(lines[:5])}): "
                "choose another folder, or repeat it as it was made"
            )

    def _committed(self) -> list[StoredFile]:
        """The shards, and the last state."""
        records = [entry["shard"] for entry in self.entries if entry["shard"]]
        records += [self.entries[-1]["state"]] if self.entries else []
        return [self._stored(record) for record in records]

    def _made(self) -> list[Path]:
        """Shards and states that are there, committed or not."""
        return [path for part in ("draws", "state") for path in (self.path / part).glob("*.safetensors")]

    def _require_whole(self) -> None:
        """Refuse a run that has lost something: at most the next block is there without its line."""
        for file in self._committed():
            file.verify_size()
        if lost := [path for path in self._made() if path.stem > f"{self.blocks:06d}"]:
            raise RunError(
                f"{self.path}/journal.jsonl is damaged (it ends before {lost[0].name}): "
                "restore it from a copy"
            )

    def _remove_uncommitted(self) -> None:
        committed = {file.path for file in self._committed()}
        partial = [*self.path.glob("*.partial"), *self.path.glob("*/*.safetensors.partial")]
        for path in [*(path for path in self._made() if path not in committed), *partial]:
            path.unlink()


def _created(folder: Path, config: Mapping[str, Any]) -> Run:
    """A run without any block."""
    files.make_folders(folder / "draws", folder / "state", folder / "observed")
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    files.write_json(folder / "config.json", {**config, "created": created})
    return Run(folder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the system releases it when the process ends, however it ends."""
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise files.explained(error, folder / "lock") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            raise RunError(
                f"{folder} is being written by another process ({holder or 'unknown'}): "
                "wait for it, stop it, or choose another folder"
            ) from error
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the note of its holder
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _require_run_or_empty(folder: Path) -> None:
    """Refuse a folder of someone else's files, before anything is written there."""
    expected = (folder / "lock", folder / "config.json.partial")
    foreign = (path for path in folder.rglob("*") if not path.is_dir() and path not in expected)
    if (path := next(foreign, None)) and not (folder / "config.json").exists():
        raise RunError(
            f"{folder} is not a run and not empty (it holds {path.relative_to(folder)}): "
            "choose another folder"
        )
