"""Align a run: move its draws by symmetries of the network, in memory or into a run of their own.

Draws are read block by block, so that they may be larger than memory; only one element of the group for each
draw is kept in memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symbayes import specs, symmetry, trees
from symbayes.analyse.control import prior_draws
from symbayes.analyse.distances import LayerDistance, distances
from symbayes.analyse.progress import Progress, unwatched
from symbayes.brief import briefly
from symbayes.draws import Draws, Run, RunError, Writer, files
from symbayes.draws.draws import DerivedSegment, MemorySegment, Origin, read_segment
from symbayes.engine import Opened, Source, open_run
from symbayes.specs import require
from symbayes.symmetry import Alignment, Criterion, Symmetry

BLOCK_BYTES = 2**26


@briefly
@dataclass(frozen=True, eq=False)
class AlignedRun:
    """The aligned draws, and how they were aligned.

    Attributes:
        run: the opened run, with the aligned draws.
        group: the symmetries that were removed.
        alignment: the element that moved each draw, with the null control.
    """

    run: Opened
    group: Symmetry
    alignment: Alignment

    @property
    def draws(self) -> Draws:
        return self.run.draws

    @property
    def path(self) -> Path | None:
        """The folder of the new run; None in memory."""
        return self.run.path

    @property
    def distances(self) -> dict[str, LayerDistance]:
        return distances(self.alignment, self.group)


def align_run(
    source: Source,
    out: str | Path | None = None,
    *,
    to: Source = "joint",
    by: Criterion | None = None,
    restarts: int = 1,
    seed: int = 0,
    progress: Progress = unwatched,
) -> AlignedRun:
    """Align the draws of a run and, as a control, the same number of draws of its prior.

    Args:
        source: the folder of a run, draws in memory as `run` gave them, or what `open` gave.
        out: the folder for the aligned run.  A folder that holds a run is not overwritten; one that the same
            call began and did not finish is finished.  Without a folder nothing is written: draws in memory
            are aligned in memory, and draws in a folder are moved when they are read.
        to: ``"joint"``, or a run of the same network: its mean if it is aligned, else its last draw.
        by: the criterion by which draws are matched, by default `symmetry.Weights()`.
        restarts: number of starting points; the best result is kept.
        seed: seed of the restarts.
        progress: receives short messages about progress.
    """
    run = open_run(source)
    require(movable(run.group), f"the network of {_name(run)} has no symmetries: there is nothing to align")
    by = symmetry.Weights() if by is None else by
    config = _configuration(run, to, by, restarts, seed)
    if out is not None:
        _require_unfinished(Path(out), config)
    reference = "joint" if to == "joint" else _reference(open_run(to), run.draws)
    total = None if isinstance(reference, str) else run.draws.chains * len(run.draws)

    def aligned(draws: Draws, doing: str) -> Alignment:
        watched = _watched(draws, lambda done: progress(doing, done, total))
        return symmetry.align(watched, run.group, reference, by, restarts, seed)

    alignment = aligned(run.draws, "aligning")
    alignment = dataclasses.replace(alignment, control=aligned(prior_draws(run, run.draws), "control"))
    if out is None:
        return AlignedRun(_moved(run, alignment, config), run.group, alignment)
    _write(Path(out), config, alignment, progress)
    return AlignedRun(open_run(out), run.group, alignment)


def movable(group: Symmetry) -> bool:
    """Whether the group has any symmetry."""
    return bool(group.permutations or group.signs or group.scales)


def _name(run: Opened) -> str:
    return str(run.path or "draws in memory")


def _configuration(run: Opened, to: Source, by: Criterion, restarts: int, seed: int) -> dict[str, Any]:
    """The configuration of the source, with a record of the alignment."""
    dropped = ("created", "observers", "together")
    kept = {key: value for key, value in run.config.items() if key not in dropped}
    size = run.draws.draws_within(BLOCK_BYTES)
    blocks = sum(-(-segment.draws // size) for segment in run.draws.segments)
    other = None if to == "joint" else open_run(to)
    where = {"to": "joint"} if other is None else {"to": _name(other), "to_sha256": _sha256(other)}
    how = {"by": _described(by), "restarts": restarts, "seed": seed}
    return kept | {
        "observers": {},
        "units": [blocks],
        "derived_from": _name(run),
        "alignment": where | how | {"sha256": _sha256(run)},
        "versions": specs.installed_versions(),
    }


def _described(by: Criterion) -> dict[str, Any]:
    """The kind of a criterion and its plain settings; functions and data are not written down."""
    fields = vars(by).items()
    plain = {name: value for name, value in fields if value is None or isinstance(value, str | int | float)}
    return {"kind": type(by).__name__, **plain}


def _sha256(run: Opened) -> str:
    """Of the draws in memory, or of the journal, which has the checksums of those in a folder."""
    if run.path is not None:
        return files.file_sha256(run.path / "journal.jsonl")
    return files.sha256(*(part for s in run.draws.segments for part in files.pack(read_segment(s))))


def _require_unfinished(out: Path, config: Mapping[str, Any]) -> None:
    if (out / "config.json").exists():
        there = Run(out)
        same = there.config.get("alignment") == config["alignment"]
        if there.finished or not same:
            raise RunError(f"{out} holds a run already: choose another folder with --out")


def _reference(other: Opened, draws: Draws) -> Draws | trees.Tree:
    """Where to align to: the mean of aligned draws, or else the last draw of the first chain."""
    if other.draws.shapes != draws.shapes:
        raise RunError(f"{_name(other)} is a run of another network: align to one of the same network")
    if "alignment" in other.config:
        return other.draws
    return trees.index(other.draws.select([0], [len(other.draws) - 1]).variables, (0, 0))


def _moved(run: Opened, alignment: Alignment, config: Mapping[str, Any]) -> Opened:
    """The run with aligned draws that no folder holds."""
    draws, made = alignment.draws, run.draws.origin
    assert isinstance(draws, Draws)
    if run.path is None:
        draws = Draws([MemorySegment.of(segment) for segment in draws.segments])
    if made is not None:
        draws = dataclasses.replace(draws, origin=Origin(config, made.posterior, made.traces))
    return dataclasses.replace(run, draws=draws, config=config, path=None, distribution=None)


def _write(out: Path, config: Mapping[str, Any], alignment: Alignment, progress: Progress) -> None:
    draws = alignment.draws
    assert isinstance(draws, Draws)
    with Writer.open(out, config) as run:
        done = 0
        for number, block in enumerate(draws.blocks(draws.draws_within(BLOCK_BYTES))):
            done += len(block)
            if number >= run.blocks:
                (segment,) = block.segments
                cursor = {"phase": 0, "unit": number + 1, "piece": 0, "drawn": done}
                run.commit(read_segment(segment), len(block), cursor=cursor, state={"done": np.array(done)})
            progress("writing", draws.chains * done, draws.chains * len(draws))
        elements = alignment.elements
        named = {"permutations": elements.permutations, "signs": elements.signs}
        arrays = trees.flatten(named | {"log_scales": elements.log_scales})
        run.save_observed("alignment", {name: np.asarray(array) for name, array in arrays.items()})


@dataclass(frozen=True, eq=False)
class _Watched(DerivedSegment):
    """A segment that says how many of its draws are read, each time one of its arrays is."""

    name: str
    seen: Callable[[int], Any]

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        array = self.segment.read(name, draws, rows)
        if name == self.name:
            self.seen(array.shape[0] * array.shape[1])
        return array


def _watched(draws: Draws, tell: Callable[[int], Any]) -> Draws:
    name, done = next(iter(draws.segments[0].shapes())), 0

    def seen(count: int) -> None:
        nonlocal done
        done += count
        tell(done)

    return dataclasses.replace(draws, segments=[_Watched(segment, name, seen) for segment in draws.segments])
