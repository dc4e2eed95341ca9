"""A part of a study: one question, how it is answered, and how the answer is shown.

A part is a frozen dataclass.  Its fields are its settings.  They are stored with the result, so that a result
is recognised and never taken for one of other settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk

Found = Mapping[str, Any]
"""The result of a part, as stored in JSON: numbers, strings, lists and mappings of them."""


@dataclass(frozen=True)
class Part(ABC):
    """One question of a study."""

    question: ClassVar[str]
    """The question, which is the title of the section."""
    published: ClassVar[str] = ""
    """The paper's answer, in our words; empty where the paper does not ask the question."""

    @property
    def of(self) -> str:
        """The posterior that the question is about, where the study has several."""
        return ""

    @abstractmethod
    def work(self, desk: Desk) -> Found:
        """Do the experiment.  The page is made from its result alone, which is stored as JSON."""

    @abstractmethod
    def answer(self, found: Found) -> str:
        """A sentence or two, computed from the numbers."""

    @abstractmethod
    def show(self, found: Found) -> Sequence[Table | Figure]:
        """Tables and figures of what was found."""
