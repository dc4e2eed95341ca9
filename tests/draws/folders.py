"""A run that needs no network: blocks of numbers that depend on nothing but their place."""

import contextlib
import errno
import os
import shutil
from pathlib import Path

import numpy as np

from symbayes import trees
from symbayes.draws import Run

BLOCKS, CHAINS, DRAWS = 5, 2, 3
CONFIG = {"format": 1, "method": {"kind": "Numbers", "scale": 0.5}, "seed": 3, "blocks": BLOCKS}
SHAPES = {"params/l2/kernel": (4, 2), "params/l10/kernel": (2, 3), "params/l2/gain": (), "stats/mean": (5,)}


def block_draws(block: int) -> int:
    """The first block is burn-in, the others have draws, the last one fewer."""
    return 0 if block == 0 else DRAWS - (block == BLOCKS - 1)


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


def work_on(folder: Path, upto: int = BLOCKS, config: dict = CONFIG) -> Run:
    """Open the run, go on to block `upto`, and read it back."""
    with Run.write(folder, config) as run:
        for block in range(run.blocks, upto):
            if block:
                assert run.state()["block"] == block - 1
            metrics = {"loss": 1 / (block + 1), "n": [block]}
            run.commit(block_arrays(block), block_draws(block), block_state(block), metrics)
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


def results(folder: Path) -> dict[str, bytes]:
    """What must be byte-identical between two runs."""
    return without_config(contents(folder))


def replace(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold these files and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("draws", "state", "observed"):
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
