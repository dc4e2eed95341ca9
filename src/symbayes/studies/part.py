"""A part of a study: one question, how it is answered, and how the answer is shown.

A part is a frozen dataclass.  Its fields are its settings; they are kept with what was found, so that a
result is known again and never taken for that of other settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk

Found = Mapping[str, Any]
"""What a part found, as it stands in JSON: numbers, words, lists and mappings of them."""


@dataclass(frozen=True)
class Part(ABC):
    """One question of a study."""

    question: ClassVar[str]
    """As the title of its section."""
    published: ClassVar[str] = ""
    """What the paper answers, in our words; empty where it does not ask."""

    @property
    def of(self) -> str:
        """Of which posterior it is asked, where the study has several."""
        return ""

    @abstractmethod
    def work(self, desk: Desk) -> Found:
        """The experiment.  Its result is written as JSON and is all that the page is made from."""

    @abstractmethod
    def answer(self, found: Found) -> str:
        """A sentence or two, computed from the numbers."""

    @abstractmethod
    def show(self, found: Found) -> Sequence[Table | Figure]:
        """Tables and figures of what was found."""
