"""From a run to its aligned twin: a run of its own, whose draws differ by symmetries alone.

Draws are walked block by block, so that they may be larger than memory; what is kept of all of them is one
element of the group each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symbayes import specs, symmetry, trees
from symbayes.draws import Draws, Run, RunError
from symbayes.draws.draws import DerivedSegment, read_segment
from symbayes.draws.files import file_sha256
from symbayes.engine import open_run
from symbayes.report.symmetry.distances import LayerDistance, distances
from symbayes.report.symmetry.subject import Subject
from symbayes.specs import require
from symbayes.symmetry import Alignment

BLOCK_BYTES = 2**26

Progress = Callable[[str, int, int | None], Any]
"""Takes what is being done, how many draws are done, and of how many if that is known."""


@dataclass(frozen=True, eq=False)
class AlignedRun:
    """Where the aligned draws are, and how they came there."""

    path: Path
    subject: Subject
    alignment: Alignment
    draws: int
    control: Alignment

    @property
    def distances(self) -> dict[str, LayerDistance]:
        both = dataclasses.replace(self.alignment, control=self.control)
        return distances(both, self.subject.group)


def align_run(
    source: str | Path,
    out: str | Path,
    x: Any,
    *,
    to: str | Path = "joint",
    by: Any = None,
    restarts: int = 1,
    seed: int = 0,
    progress: Progress = lambda doing, done, total: None,
) -> AlignedRun:
    """Align the draws of a stored run and as many draws of its prior, and store the former.

    `x` are some inputs of the run's dataset, `to` is ``"joint"`` or the folder of a run of the same network.
    An existing folder is not overwritten; one that was begun by the same call and stopped is finished.
    """
    run = open_run(source)
    subject = Subject.of(run, x)
    require(subject.symmetric, f"the network of {source} has no symmetries: there is nothing to align")
    by = symmetry.Weights() if by is None else by
    config = _configuration(Run(source), to, by, restarts, seed)
    _require_unfinished(Path(out), config)
    reference = "joint" if to == "joint" else _reference(Path(to), run.draws)
    count = run.draws.chains * len(run.draws)
    total = None if isinstance(reference, str) else count

    def aligned(draws: Draws, doing: str) -> Alignment:
        watched = _watched(draws, lambda done: progress(doing, done, total))
        return symmetry.align(watched, subject.group, reference, by, restarts, seed)

    alignment = aligned(run.draws, "aligning")
    control = aligned(subject.control(run.draws), "control")
    _write(Path(out), config, alignment, progress)
    return AlignedRun(Path(out), subject, alignment, count, control)


def _configuration(run: Run, to: str | Path, by: Any, restarts: int, seed: int) -> dict[str, Any]:
    """That of the source, with what was done to its draws."""
    kept = {key: value for key, value in run.config.items() if key not in ("created", "observers")}
    size = run.draws.draws_within(BLOCK_BYTES)
    blocks = sum(-(-segment.draws // size) for segment in run.draws.segments)
    how = {"to": str(to), "by": _described(by), "restarts": restarts, "seed": seed}
    origin = {"journal": file_sha256(run.path / "journal.jsonl")}
    return kept | {
        "observers": {},
        "units": [blocks],
        "derived_from": str(run.path),
        "alignment": how | origin,
        "versions": specs.installed_versions(),
    }


def _described(by: Any) -> dict[str, Any]:
    """The kind of a criterion and its plain settings; functions and data are not written down."""
    fields = ((field.name, getattr(by, field.name)) for field in dataclasses.fields(by))
    plain = {name: value for name, value in fields if value is None or isinstance(value, str | int | float)}
    return {"kind": type(by).__name__, **plain}


def _require_unfinished(out: Path, config: Mapping[str, Any]) -> None:
    if (out / "config.json").exists():
        there = Run(out)
        same = there.config.get("alignment") == config["alignment"]
        if there.finished or not same:
            raise RunError(f"{out} holds a run already: choose another folder with --out")


def _reference(path: Path, draws: Draws) -> Any:
    """Where to align to: the mean of aligned draws, or else the last draw of the first chain."""
    other = open_run(path)
    if other.draws.shapes != draws.shapes:
        raise RunError(f"{path} is a run of another network: align to one of the same network")
    if "alignment" in other.config:
        return other.draws
    return trees.index(other.draws.select([0], [len(other.draws) - 1]).variables, (0, 0))


def _write(out: Path, config: Mapping[str, Any], alignment: Alignment, progress: Progress) -> None:
    draws = alignment.draws
    assert isinstance(draws, Draws)
    total = draws.chains * len(draws)
    with Run.write(out, config) as run:
        done = 0
        for number, block in enumerate(draws.blocks(draws.draws_within(BLOCK_BYTES))):
            done += block.chains * len(block)
            if number >= run.blocks:
                (segment,) = block.segments
                cursor = {"phase": 0, "unit": number + 1, "piece": 0, "drawn": done}
                run.commit(read_segment(segment), len(block), cursor=cursor, state={"done": np.array(done)})
            progress("writing", done, total)
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

    return Draws([_Watched(segment, name, seen) for segment in draws.segments])
