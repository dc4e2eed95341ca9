"""The journal of a run: one checksummed line commits one block.

A line is appended after the block's files are flushed, so a run killed at any moment has a journal
that ends in a whole line or a torn one; a torn last line was never a commit and is dropped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from symbayes.draws import files


class DamagedJournal(ValueError):
    """A line before the last one does not match its checksum."""


def encode(entry: dict[str, Any]) -> bytes:
    content = json.dumps(entry, sort_keys=True)
    return (json.dumps({"entry": entry, "sha256": files.sha256(content.encode())}) + "\n").encode()


def decode(line: bytes) -> dict[str, Any] | None:
    """The entry, or None if the line is torn or damaged."""
    try:
        record = json.loads(line)
        content = json.dumps(record["entry"], sort_keys=True)
        return record["entry"] if files.sha256(content.encode()) == record["sha256"] else None
    except (ValueError, KeyError, TypeError):
        return None


def read(path: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """The committed entries, and the length of the file up to each of them."""
    if not path.exists():
        return [], []
    lines = path.read_bytes().splitlines(keepends=True)
    entries: list[dict[str, Any]] = []
    lengths: list[int] = []
    for number, line in enumerate(lines, start=1):
        entry = decode(line) if line.endswith(b"\n") else None
        if entry is None:
            if number < len(lines):
                raise DamagedJournal(f"{path} is damaged at line {number}: restore it from a copy")
            break
        entries.append(entry)
        lengths.append(len(line) + (lengths[-1] if lengths else 0))
    return entries, lengths


def append(path: Path, entry: dict[str, Any], length: int) -> int:
    """Commit one entry after the first `length` bytes; gives the new length."""
    line = encode(entry)
    append_at(path, line, length)
    return length + len(line)


def cut(path: Path, length: int) -> None:
    """Drop all entries after the first `length` bytes."""
    append_at(path, b"", length)


def append_at(path: Path, content: bytes, length: int) -> None:
    """Cut the file to `length` bytes, append, and flush to the disk."""
    try:
        with open(path, "r+b" if path.exists() else "w+b") as file:
            file.truncate(length)
            file.seek(length)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise files.explained(error, path) from error
