"""The types of functions that follow the progress of long work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Tell = Callable[[str], Any]
"""Receives a short message about progress."""

Progress = Callable[[str, int, int | None], Any]
"""Receives a short message, the number of draws that are done, and the number of all draws if it is known."""


def silent(words: str) -> None:
    """Ignores messages."""


def unwatched(doing: str, done: int, total: int | None) -> None:
    """Ignores progress."""
