"""What the parts of a study work with: the folder, the seed, the runs, and a place for progress messages."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from symbayes import data, symmetry
from symbayes.analyse.progress import Tell, silent
from symbayes.draws import Draws, RunError
from symbayes.engine import Method, Opened, open_run, run
from symbayes.posterior import Posterior
from symbayes.studies import aligned
from symbayes.studies.stored import Unfinished
from symbayes.symmetry.align.criterion import Criterion
from symbayes.symmetry.group.stack import Stack
from symbayes.trees import Tree

T = TypeVar("T")


@dataclass(frozen=True)
class Desk:
    """What the parts of a study share.

    Runs are stored in ``runs/NAME``.  A finished run is read back and a stopped run is continued, so several
    parts may ask for the same run.  What alignment found is stored in ``aligned/NAME.safetensors``, and
    finished steps of a part until the part is done.

    Attributes:
        folder: the folder of the study.
        seed: the seed of its runs.
        tell: receives short messages about progress.
        warned: the warnings that runs gave, by the names of the runs.
        made: results that several parts need and that are computed once, by name.
        unfinished: the finished steps of the part, where they are stored.
    """

    folder: Path
    seed: int = 0
    tell: Tell = silent
    warned: dict[str, list[str]] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)
    unfinished: Unfinished | None = None

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The result of `make`, computed at the first call and kept in memory until the study ends."""
        if name not in self.made:
            self.tell(name)
            self.made[name] = make()
        return self.made[name]

    def step(self, name: str, make: Callable[[], T]) -> T:
        """The result of `make` as JSON, stored at once, so that a part that is stopped does not repeat it."""
        if self.unfinished is None:
            return make()
        if name in self.unfinished.steps:
            self.tell(f"{name}: done before")
        else:
            self.tell(name)
            self.unfinished.add(name, make())
        return self.unfinished.steps[name]

    def aligned(
        self,
        name: str,
        draws: Draws,
        group: symmetry.Symmetry,
        by: Criterion,
        to: str | Draws | Tree = "joint",
    ) -> Draws:
        """The draws, aligned as `symmetry.align` does; its elements are stored and read back."""
        return self.once(name, lambda: self._aligned(name, draws, group, by, to))

    def _aligned(
        self, name: str, draws: Draws, group: symmetry.Symmetry, by: Criterion, to: str | Draws | Tree
    ) -> Draws:
        path, origin = aligned.path_of(self.folder, name), aligned.origin_of(draws, to, by)
        if path.exists():
            try:
                moved = Stack.of(draws, group).moved(aligned.read(path, origin))
            except RunError as error:
                self.tell(f"{name}: {error}, so it is computed again")
            else:
                self.tell(f"{name}: read back")
                assert isinstance(moved, Draws)
                return moved
        found = symmetry.align(draws, group, to=to, by=by)
        aligned.write(path, found.elements, origin)
        assert isinstance(found.draws, Draws)
        return found.draws

    def run(
        self,
        name: str,
        method: Method,
        posterior: Posterior,
        dataset: data.Dataset | None = None,
        **options: Any,
    ) -> Opened:
        """The run with this name: drawn now, or read back.  Options are those of `symbayes.run`."""
        store = self.folder / "runs" / name.replace(", ", "-")
        about: Mapping[str, Any] = {} if dataset is None else dataset.about
        self.tell(
            f"{name}: {_told(method)}" if not (store / "config.json").exists() else f"{name}: read back"
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            run(method, posterior, seed=self.seed, store=store, about=about, **options)
        for each in caught:
            self.tell(f"{name}: warning: {each.message}")
            self.warned.setdefault(name, []).append(str(each.message))
        return open_run(store)


def _told(method: Any) -> str:
    """The method, with the options that differ from their defaults."""
    fields = dataclasses.fields(method)
    given = {field.name: getattr(method, field.name) for field in fields}
    told = [f"{f.name}={given[f.name]}" for f in fields if given[f.name] != f.default]
    return f"{type(method).__name__}({', '.join(told)})"
