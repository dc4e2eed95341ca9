"""What the parts of a study work with: the folder, the seed, the runs, and a place for progress messages."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from symbayes import data
from symbayes.analyse.progress import Tell, silent
from symbayes.engine import Method, Opened, open_run, run
from symbayes.posterior import Posterior

T = TypeVar("T")


@dataclass(frozen=True)
class Desk:
    """What the parts of a study share.

    Runs are stored in ``runs/NAME``.  A finished run is read back and a stopped run is continued, so several
    parts may ask for the same run.

    Attributes:
        folder: the folder of the study.
        seed: the seed of its runs.
        tell: receives short messages about progress.
        warned: the warnings that runs gave, by the names of the runs.
        made: results that several parts need and that are computed once, by name.
    """

    folder: Path
    seed: int = 0
    tell: Tell = silent
    warned: dict[str, list[str]] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The result of `make`, computed at the first call and kept in memory until the study ends."""
        if name not in self.made:
            self.tell(name)
            self.made[name] = make()
        return self.made[name]

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
