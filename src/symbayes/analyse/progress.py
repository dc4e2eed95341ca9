"""How long work is followed while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Tell = Callable[[str], Any]
"""Takes a few words on what is being done."""

Progress = Callable[[str, int, int | None], Any]
"""Takes what is being done, how many draws are done, and of how many if that is known."""


def silent(words: str) -> None:
    """For those who do not ask."""


def unwatched(doing: str, done: int, total: int | None) -> None:
    """For those who do not count."""
