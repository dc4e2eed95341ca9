"""The output of commands: text, and numbers as JSON.

With ``--json -`` the numbers go to the standard output, and everything else to the standard error, so that
another program can read them.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console

from symbayes.cli.options import default, require_file

STDOUT = Path("-")

Json = Annotated[Path | None, default("none", "FILE")]
"""The option ``--json``: a file for the numbers, - for the standard output."""


class Output:
    """Prints the text of a command, and writes its numbers."""

    def __init__(self, json: Path | None) -> None:
        require_file("--json", json)
        self._json = json

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Send what is printed meanwhile to the standard error, if the standard output is for numbers."""
        with contextlib.redirect_stdout(sys.stderr) if self._aside else contextlib.nullcontext():
            yield

    @property
    def _aside(self) -> bool:
        """Whether the standard output is for numbers."""
        return self._json == STDOUT

    def show(self, thing: Any, **options: Any) -> None:
        """Print a table, or anything else that a console can show."""
        Console(stderr=self._aside).print(thing, **options)

    def line(self, text: Any) -> None:
        """Print a line without wrapping it at the width of the terminal."""
        print(text, file=sys.stderr if self._aside else sys.stdout)

    @property
    def wanted(self) -> bool:
        """Whether numbers were requested."""
        return self._json is not None

    def numbers(self, value: Any) -> None:
        """Write the numbers, if they were requested."""
        from symbayes.report.numbers import json_text
        from symbayes.report.page import write

        if self._json == STDOUT:
            sys.stdout.write(json_text(value))
        elif self._json is not None:
            write(self._json, json_text(value))
