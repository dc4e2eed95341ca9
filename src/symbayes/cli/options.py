"""How options appear in the help: the names of their values, and defaults in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from symbayes.specs import require

OneRun = Positional[Annotated[Path, arg(metavar="RUN")]]
SomeRuns = Positional[
    Annotated[tuple[Path, ...], arg(metavar="RUN [RUN ...]", help_behavior_hint="(required)")]
]


def default(words: str, metavar: str | None = None) -> Any:
    """An option whose default is described in words."""
    return arg(metavar=metavar, help_behavior_hint=f"(default: {words})")


def some_words(metavar: str) -> Any:
    """An option that takes any number of words."""
    return arg(metavar=f"{metavar} [{metavar} ...]", help_behavior_hint="(default: none)")


def require_file(option: str, path: Path | None) -> None:
    """Refuse, before any work is done, a folder where a file is to be written."""
    require(path is None or not path.is_dir(), f"{option} must name a file to write, but {path} is a folder")
