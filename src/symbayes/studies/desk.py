"""Where a study works: its folder, its seed, and whom it tells what it is doing."""

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

    Runs lie in ``runs/NAME``.  One that is there is read back, and one that was stopped goes on, so several
    parts may ask for the same run.

    Attributes:
        folder: of the study.
        seed: of its runs.
        tell: is told what is being done.
        warned: what runs warned of, by their names.
        made: what several parts need and is made once, by name.
    """

    folder: Path
    seed: int = 0
    tell: Tell = silent
    warned: dict[str, list[str]] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What `make` gives, made when it is first asked for and kept in memory while the study goes on."""
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
        """The run of that name: drawn now, or read back.  Options are those of `symbayes.run`."""
        store = self.folder / "runs" / name.replace(", ", "-")
        about: Mapping[str, Any] = {} if dataset is None else dataset.about
        self.tell(f"{name}: {_told(method)}" if not (store / "config.json").exists() else f"{name}: is there")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            run(method, posterior, seed=self.seed, store=store, about=about, **options)
        for each in caught:
            self.tell(f"{name}: warning: {each.message}")
            self.warned.setdefault(name, []).append(str(each.message))
        return open_run(store)


def _told(method: Any) -> str:
    """The method with what differs from its defaults."""
    fields = dataclasses.fields(method)
    given = {field.name: getattr(method, field.name) for field in fields}
    told = [f"{f.name}={given[f.name]}" for f in fields if given[f.name] != f.default]
    return f"{type(method).__name__}({', '.join(told)})"
