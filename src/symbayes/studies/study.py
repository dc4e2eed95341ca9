"""What a study is: a published experiment that one command runs again.

A study is a frozen dataclass that says, for a preset, which parts it has; a part asks one question
(`studies/part.py`).  What is done is stored and not done again (`studies/stored.py`), so a study that was
stopped goes on where it was.  At the end there are in its folder

    index.html     the page: what was asked, the answers computed from the numbers, the published ones beside
    results.json   all numbers, with the command, versions, hardware and time of every part
    figures/       every figure of the page as SVG and as PDF
    parts/, runs/  what was found, and the runs from which it was
"""

from __future__ import annotations

import shlex
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from rich.console import Console

from symbayes.engine.words import duration
from symbayes.specs import did_you_mean, require
from symbayes.studies import stored, telling
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found, Part
from symbayes.studies.stored import Result

Preset = Literal["quick", "gpu", "tiny"]


@dataclass(frozen=True)
class Study(ABC):
    """A published experiment.

    Attributes:
        preset: quick is for two processor cores and embedded data, gpu is the published setting as far as one
            large accelerator allows, tiny takes seconds and only shows that everything works.
        out: folder of the study; parts that are done there are not done again.
        only: do only these parts; a piece of a part's name is enough, as in --only mixing.
        seed: seed of all runs.
    """

    name: ClassVar[str]
    """Its command."""
    title: ClassVar[str]
    """What is asked, as the title of the page."""
    source: ClassVar[str]
    """The paper."""

    preset: Preset = "quick"
    out: Path | None = None
    only: tuple[str, ...] = ()
    seed: int = 0

    @abstractmethod
    def parts(self) -> Mapping[str, Part]:
        """The parts of the preset, by name, in the order in which they are done."""

    @abstractmethod
    def answer(self, found: Mapping[str, Found]) -> str:
        """Two sentences on the whole, computed from the numbers of all parts."""

    @classmethod
    def help(cls) -> str:
        """What the command line says of it."""
        return f"{cls.title} {cls.cited()}\n\nExample: symbayes study {cls.name} --preset quick"

    @classmethod
    def cited(cls) -> str:
        """The paper, as a sentence."""
        return cls.source if cls.source.endswith(("?", "!", ".")) else f"{cls.source}."

    @property
    def folder(self) -> Path:
        return Path(self.out) if self.out is not None else Path("runs") / f"study-{self.name}-{self.preset}"

    @property
    def command(self) -> str:
        """That which runs it again."""
        words = ["symbayes", "study", self.name, "--preset", self.preset, "--out", str(self.folder)]
        words += ["--only", *self.only] if self.only else []
        return shlex.join(words + (["--seed", str(self.seed)] if self.seed else []))

    def __call__(self) -> Path:
        """Do what is missing, and write the page; gives its path."""
        console = Console(stderr=True, highlight=False)
        parts = self.parts()
        asked = self._asked(parts)
        done = self._done(parts)
        made: dict[str, Any] = {}
        for number, name in enumerate(asked, start=1):
            head = f"part {number} of {len(asked)}, {name}"
            if name in done:
                console.print(f"{head}: done before, in {duration(done[name].seconds)}", markup=False)
                continue
            console.print(f"{head}: {parts[name].question}", markup=False)
            done[name] = self._do(name, parts[name], made, console)
            console.print(f"{head}: took {duration(done[name].seconds)}", markup=False)
        page = telling.write(self, parts, {name: done[name] for name in parts if name in done})
        telling.say(self, parts, done, page)
        return page

    def _do(self, name: str, part: Part, made: dict[str, Any], console: Console) -> Result:
        def tell(words: str) -> None:
            console.print(f"  {words}", markup=False, soft_wrap=True)

        desk = Desk(self.folder, self.seed, tell, made=made)
        before, begin = stored.seconds_before(self.folder, name), time.monotonic()
        try:
            found = part.work(desk)
        except BaseException:
            stored.spent(self.folder, name, before + time.monotonic() - begin)
            raise
        seconds = before + time.monotonic() - begin
        result = Result.of(stored.settings_of(part, self.seed), found, seconds, desk.warned)
        stored.write(self.folder, name, result)
        return result

    def _asked(self, parts: Mapping[str, Part]) -> list[str]:
        """The names of the parts to be done."""
        for word in self.only:
            known = {piece for name in parts for piece in (name, *name.split("."))}
            hint = did_you_mean(word, known)
            require(
                word in known,
                f"{self.name} has no part {word!r}{hint} with --preset {self.preset}; its parts are "
                f"{', '.join(parts)}",
            )
        chosen = set(self.only)
        return [name for name in parts if not chosen or chosen & {name, *name.split(".")}]

    def _done(self, parts: Mapping[str, Part]) -> dict[str, Result]:
        """Results that are there; those of other settings are refused before any work."""
        read = {
            name: stored.read(self.folder, name, stored.settings_of(part, self.seed))
            for name, part in parts.items()
        }
        return {name: result for name, result in read.items() if result is not None}


def listed(studies: Mapping[str, type[Study]]) -> list[dict[str, Any]]:
    """Every study: its name, what is asked, and the paper."""
    return [{"name": name, "title": study.title, "source": study.source} for name, study in studies.items()]
