"""All commands in one place: parsing, exit codes, and how errors read."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Union

import tyro
from jax.errors import JaxRuntimeError
from tyro.conf import DisallowNone, OmitArgPrefixes, subcommand

from symbayes import data
from symbayes.cli.compact import Compact
from symbayes.cli.data import Data
from symbayes.cli.evaluate import Evaluate, ReportCommand
from symbayes.cli.sample import Sample
from symbayes.cli.symmetry import Align, Symmetries
from symbayes.draws import RunError
from symbayes.draws.files import StorageError
from symbayes.engine import Diverged, Stopped
from symbayes.specs import installed_versions
from symbayes.studies.demo import Demo

DESCRIPTION = """Draw from neural-network posteriors, and measure what is drawn.

Begin with `symbayes demo`; every command has --help, and `symbayes --version` tells the version."""

BAD_INPUT = (
    ValueError,
    TypeError,
    OSError,
    RunError,
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
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments == ["--version"]:
        print(f"symbayes {installed_versions()['symbayes']}")
        return 0
    sys.path.insert(0, os.getcwd())  # networks of the user's own are imported from here
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            command: Callable[[], Any] = tyro.cli(
                Command,  # type: ignore[arg-type]
                prog="symbayes",
                description=DESCRIPTION,
                args=arguments or ["--help"],
                config=(OmitArgPrefixes, DisallowNone),
            )
            command()
        except Stopped as stopped:
            return _complain(str(stopped), 130)
        except Diverged as diverged:
            return _complain(str(diverged), 1)
        except KeyboardInterrupt:
            return _complain("stopped", 130)
        except BrokenPipeError:  # as in `symbayes data list | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        except BAD_INPUT as error:
            return _complain(_sentence(error), 2)
        except (MemoryError, JaxRuntimeError) as error:
            if not isinstance(error, MemoryError) and "memory" not in str(error):
                raise
            return _complain("out of memory: use fewer --chains, a smaller --chunk or a smaller network", 2)
    return 0


def _sentence(error: Exception) -> str:
    """What to say of bad input; the system's own errors only name a file and what is wrong with it."""
    if isinstance(error, StorageError):
        return str(error.strerror)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _complain(message: str, code: int) -> int:
    print(f"symbayes: {message}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *details: Any, **more: Any) -> None:
    print(f"symbayes: warning: {message}", file=sys.stderr)
