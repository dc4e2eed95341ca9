"""Names of datasets: what stands before the options, and how people read the whole."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

OPTIONS = ("target", "drop", "task", "test", "validation", "split", "examples", "test_examples")
"""What may follow the name of a file."""
FIRST = re.compile(rf":(?=(?:{'|'.join(OPTIONS)})=)")


def cut(name: str) -> tuple[str, str]:
    """A dataset's name without its options, and these; the name of a file may have a colon of its own."""
    found = FIRST.search(name)
    if found:
        return name[: found.start()], name[found.end() :]
    if Path(name).is_file():
        return name, ""
    plain, _, options = name.partition(":")
    return plain, options


def readable(name: str) -> str:
    """A dataset's name with the characters that are written as in addresses: a column is ``price €``, where
    the name that loads the data has ``price %E2%82%AC``."""
    plain, options = cut(name)
    return f"{plain}:{unquote(options)}" if options else plain
