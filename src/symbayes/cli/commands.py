"""All commands in one place: parsing, exit codes, and how errors read."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Union

import tyro
from tyro.conf import OmitArgPrefixes, subcommand

from symbayes import data
from symbayes.cli.compact import Compact
from symbayes.cli.data import Data
from symbayes.cli.evaluate import Evaluate, ReportCommand
from symbayes.cli.sample import Sample
from symbayes.cli.symmetry import Align, Symmetries
from symbayes.draws import RunError
from symbayes.draws.files import StorageError
from symbayes.engine import Diverged, Stopped
from symbayes.studies.demo import Demo

BAD_INPUT = (
    ValueError,
    TypeError,
    FileNotFoundError,
    FileExistsError,
    RunError,
    StorageError,
    data.DownloadError,
)

Command = Union[  # noqa: UP007
    Annotated[Demo, subcommand("demo", prefix_name=False)],
    Annotated[Sample, subcommand("sample", prefix_name=False)],  # type: ignore[valid-type]
    Annotated[Evaluate, subcommand("evaluate", prefix_name=False)],
    Annotated[ReportCommand, subcommand("report", prefix_name=False)],
    Annotated[Symmetries, subcommand("symmetries", prefix_name=False)],
    Annotated[Align, subcommand("align", prefix_name=False)],
    Annotated[Compact, subcommand("compact", prefix_name=False)],
    Annotated[Data, subcommand("data", prefix_name=False)],  # type: ignore[valid-type]
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code: 0 done, 2 bad input, 1 diverged, 130 stopped."""
    sys.path.insert(0, os.getcwd())  # networks of the user's own are imported from here
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            command: Callable[[], Any] = tyro.cli(
                Command,  # type: ignore[arg-type]
                prog="symbayes",
                description="Draw from neural-network posteriors, and measure what is drawn.",
                args=None if arguments is None else list(arguments),
                config=(OmitArgPrefixes,),
            )
            command()
        except Stopped as stopped:
            return _complain(str(stopped), 130)
        except Diverged as diverged:
            return _complain(str(diverged), 1)
        except BAD_INPUT as error:
            return _complain(error.strerror if isinstance(error, StorageError) else str(error), 2)
    return 0


def _complain(message: str | None, code: int) -> int:
    print(f"symbayes: {message}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *details: Any, **more: Any) -> None:
    print(f"symbayes: warning: {message}", file=sys.stderr)
