"""What a study is: a published experiment that one command runs again.

A study is a frozen dataclass that lists its parts for each preset; a part asks one question
(`studies/part.py`).  Results are stored and not computed again (`studies/stored.py`), so a study that was
stopped continues where it was.  At the end its folder holds

    index.html     the page: the questions, the answers computed from the numbers, and the published answers
    results.json   all numbers, with the command, versions, hardware and time of every part
    figures/       every figure of the page as SVG and as PDF
    parts/         the results of the parts
    runs/, aligned/  what they were computed from: runs, and the elements that align their draws
"""

from __future__ import annotations

import shlex
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
        preset: quick is for two processor cores and embedded data; gpu is as close to the published setting
            as one large accelerator allows; tiny takes seconds, and only shows that everything works.
        out: folder of the study; parts whose results are there are not computed again.
        only: do only these parts. Where a study has several posteriors, a name without that of the posterior
            means the part of each.
        seed: seed of all runs.
    """

    name: ClassVar[str]
    """The name of its command."""
    title: ClassVar[str]
    """The question, which is the title of the page."""
    source: ClassVar[str]
    """The paper."""

    preset: Preset = "quick"
    out: Path | None = None
    only: tuple[str, ...] = ()
    seed: int = 0

    @abstractmethod
    def parts(self) -> Mapping[str, Part]:
        """The parts of the preset, by name, in the order of execution."""

    @abstractmethod
    def answer(self, found: Mapping[str, Found]) -> str:
        """Two sentences about the whole study, computed from the numbers of all parts."""

    @classmethod
    def help(cls) -> str:
        """The help text of its command."""
        parts = ", ".join(dict.fromkeys(name.rpartition(".")[2] for name in cls().parts()))
        return (
            f"{cls.title}\n\nThe paper: {cls.cited()}\n\nIts parts: {parts}.\n\n"
            f"Example: symbayes study {cls.name} --preset quick"
        )

    @classmethod
    def cited(cls) -> str:
        """The paper, as a sentence."""
        return cls.source if cls.source.endswith(("?", "!", ".")) else f"{cls.source}."

    @property
    def folder(self) -> Path:
        return Path(self.out) if self.out is not None else Path("runs") / f"study-{self.name}-{self.preset}"

    @property
    def command(self) -> str:
        """The command that repeats the study."""
        words = ["symbayes", "study", self.name, "--preset", self.preset, "--out", str(self.folder)]
        words += ["--only", *self.only] if self.only else []
        return shlex.join(words + (["--seed", str(self.seed)] if self.seed else []))

    def __call__(self) -> Path:
        """Do the missing parts and write the page; returns its path."""
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

        settings = stored.settings_of(part, self.seed)
        unfinished = stored.Unfinished(self.folder, name, settings)
        desk = Desk(self.folder, self.seed, tell, made=made, unfinished=unfinished)
        try:
            found = part.work(desk)
        except BaseException:
            unfinished.write()
            raise
        result = Result.of(settings, found, unfinished.seconds, desk.warned)
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
        """The stored results; those of other settings are refused before any work."""
        read = {
            name: stored.read(self.folder, name, stored.settings_of(part, self.seed))
            for name, part in parts.items()
        }
        return {name: result for name, result in read.items() if result is not None}


def listed(studies: Mapping[str, type[Study]]) -> list[dict[str, Any]]:
    """Every study: its name, its question and the paper."""
    return [{"name": name, "title": study.title, "source": study.source} for name, study in studies.items()]
