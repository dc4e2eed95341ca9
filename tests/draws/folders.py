"""A run that needs no network: blocks of numbers that depend on nothing but their place."""

import contextlib
import errno
import json
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from symbayes import trees
from symbayes.draws import Run, Writer, journal
from symbayes.draws.writing import PARTS

BLOCKS, CHAINS, DRAWS = 5, 2, 3
FITS = 2
"""The block after which a distribution is there."""
SHAPES = {"params/l2/kernel": (4, 2), "params/l10/kernel": (2, 3), "params/l2/gain": (), "stats/mean": (5,)}


def block_draws(block: int) -> int:
    """The first block is burn-in, the others have draws, the last one fewer."""
    return 0 if block == 0 else DRAWS - (block == BLOCKS - 1)


def block_cursor(block: int) -> dict[str, int]:
    """A phase of one unit without a draw, then one with a draw for every unit."""
    drawn = sum(block_draws(earlier) for earlier in range(block + 1))
    return {"phase": min(block, 1), "unit": drawn or 1, "piece": 0, "drawn": drawn}


CONFIG = {
    "format": 2,
    "method": {"kind": "Numbers", "scale": 0.5, "draws": block_cursor(BLOCKS - 1)["drawn"]},
    "seed": 3,
    "units": [1, block_cursor(BLOCKS - 1)["drawn"]],
}


def block_arrays(block: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(block)
    lead = (CHAINS, block_draws(block))
    arrays = {
        f"variables/{name}": rng.normal(size=lead + shape).astype(np.float32)
        for name, shape in SHAPES.items()
    }
    arrays["statistics/energy"] = rng.normal(size=lead).astype(np.float32)
    arrays["statistics/accepted"] = rng.random(lead) < 0.5
    return arrays


def block_state(block: int) -> dict[str, np.ndarray]:
    return {"key": np.arange(2, dtype=np.uint32), "block": np.asarray(block), "w": np.full(7, block / 3)}


def block_parts(block: int) -> dict[str, Any]:
    """All that is committed with a block's draws, but its state."""
    units = max(1, block_draws(block))
    energy = np.random.default_rng(100 + block).normal(size=(CHAINS, units)).astype(np.float32)
    return {
        "cursor": block_cursor(block),
        "plan": {"steps": 7, "units": DRAWS, "pieces": 1},
        "metrics": {"loss": 1 / (block + 1)},
        "traces": {"energy": energy, "late": energy > block / 10},
        "distribution": {"mean": np.full((CHAINS, 3), block / 7)} if block == FITS else None,
    }


def commit(run: Any, block: int, with_state: bool = True) -> None:
    """One block into a run, or into whatever takes blocks."""
    state = block_state(block) if with_state else None
    run.commit(block_arrays(block), block_draws(block), state=state, **block_parts(block))


def work_on(
    folder: Path, upto: int = BLOCKS, config: dict = CONFIG, states: Collection[int] = range(BLOCKS)
) -> Run:
    """Open the run, go on to block `upto`, and read it back; `states` are the blocks that store one."""
    with Writer.open(folder, config) as run:
        if run.blocks:
            assert run.state()["block"] == run.blocks - 1
        for block in range(run.blocks, upto):
            commit(run, block, block in states)
        if run.finished:
            run.save_observed("moments", {"mean": np.arange(3.0)})
    return Run(folder)


def everything() -> tuple[dict, dict[str, np.ndarray]]:
    """All variables as a tree and all statistics, as they should be read back."""
    parts = [block_arrays(block) for block in range(BLOCKS) if block_draws(block)]
    joined = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
    variables = {n.removeprefix("variables/"): a for n, a in joined.items() if n.startswith("variables/")}
    stats = {n.removeprefix("statistics/"): a for n, a in joined.items() if n.startswith("statistics/")}
    return trees.unflatten(variables), stats


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below the folder but the lock, which only notes who held it last."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def results(folder: Path) -> dict[str, Any]:
    """What must be the same of two runs, byte for byte: all but when they were made, and when on the way
    they stored their state."""
    files: dict[str, Any] = contents(folder)
    config = json.loads(files["config.json"])
    entries, _ = journal.read(folder / "journal.jsonl")
    files["config.json"] = {key: value for key, value in config.items() if key != "created"}
    files["journal.jsonl"] = [{**entry, "state": None} for entry in entries]
    return files


def replace(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold these files and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in (*PARTS, "observed"):
        (folder / name).mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


@contextlib.contextmanager
def fsync_fails_at(monkeypatch, call: int, number: int = errno.ENOSPC):
    """The disk refuses from the `call`-th flush on, as a full one does."""
    calls = iter(range(call))

    def fsync(descriptor: int) -> None:
        if next(calls, None) is None:
            raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield


def without_config(files: dict[str, bytes]) -> dict[str, bytes]:
    """All but the configuration, which holds a date."""
    return {name: content for name, content in files.items() if name != "config.json"}
