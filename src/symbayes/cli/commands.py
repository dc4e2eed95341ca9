"""All commands: parsing, exit codes, and the form of error messages.

A command is imported when it is called, so that the list of commands, the version and the message about a
mistyped word appear at once, without importing JAX.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union

from symbayes.cli.compiled import FAILED, forget_compiled, keep_compiled
from symbayes.cli.cores import use_all_cores
from symbayes.version import __version__

DESCRIPTION = """Draw from neural-network posteriors, and measure the draws.

Start with `symbayes demo`. Every command has --help with an example, and `symbayes --version` tells the
version."""


@dataclass(frozen=True)
class Entry:
    """The place of a command in the code, and the first sentence of its help."""

    place: str
    summary: str

    def load(self) -> type:
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(module), name)

    def stand_in(self, name: str) -> type:
        """A command without options, which is listed where another command is called."""
        return dataclasses.make_dataclass(f"{name.title()}Command", [], frozen=True)


COMMANDS: dict[str, Entry] = {
    "demo": Entry(
        "symbayes.cli.told:DemoCommand",
        "Draw from a real posterior on the embedded digits, and write a page about it.",
    ),
    "sample": Entry(
        "symbayes.cli.sample:Sample",
        "Draw from a posterior with one of the methods, into a run folder that can be resumed.",
    ),
    "evaluate": Entry(
        "symbayes.cli.evaluate:Evaluate",
        "Compare runs on the test part of their dataset: accuracy, calibration, agreement and more.",
    ),
    "report": Entry(
        "symbayes.cli.evaluate:ReportCommand",
        "Write an HTML page about runs: comparison, mixing, symmetry, calibration, uncertainty.",
    ),
    "predict": Entry(
        "symbayes.cli.predict:Predict",
        "Predict new inputs with a run: means, intervals and probabilities, in the targets' own units.",
    ),
    "info": Entry(
        "symbayes.cli.info:Info",
        "Show what a run is, whether it has finished, and its acceptance, divergences, R-hat and ESS.",
    ),
    "diagnose": Entry(
        "symbayes.cli.diagnose:Diagnose",
        "Check whether the chains of runs have mixed, in functions and in weights, and say what to change.",
    ),
    "symmetries": Entry(
        "symbayes.cli.symmetry:Symmetries",
        "Find the weight-space symmetries of a network from its program.",
    ),
    "align": Entry(
        "symbayes.cli.symmetry:Align",
        "Align the draws of a run: move them by symmetries of the network until weights can be compared.",
    ),
    "barrier": Entry(
        "symbayes.cli.checkpoints:Barrier",
        "Measure the loss between two trained networks, before and after one is aligned to the other.",
    ),
    "compact": Entry(
        "symbayes.cli.compact:Compact",
        "Fit a compact posterior to half of a run's chains, and compare its predictions with the other half.",
    ),
    "distance": Entry(
        "symbayes.cli.distance:Distance",
        "Measure how far the draws of a run are from those of a reference, in weights and in functions.",
    ),
    "landscape": Entry(
        "symbayes.cli.landscape:LandscapeCommand",
        "Draw the loss on the plane through three networks of a run, and measure mass and curvature.",
    ),
    "evidence": Entry(
        "symbayes.cli.evidence:EvidenceCommand",
        "Compare runs as models: by leave-one-out predictions (PSIS-LOO, WAIC), and by evidence.",
    ),
    "study": Entry(
        "symbayes.cli.study:StudyCommand",
        "Run a published experiment again, and compare its answers with the paper's.",
    ),
    "data": Entry("symbayes.cli.data:Data", "List the datasets, fetch one, or check one."),
}


class UnknownWord(ValueError):
    """A command that does not exist."""


def _require_known(word: str, known: Iterable[str], place: str) -> None:
    """Refuse a mistyped word where a command is named; options are left to the parser."""
    known = list(known)
    if word.startswith("-") or word in known:
        return
    close = difflib.get_close_matches(word, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise UnknownWord(f"`{place}` has no {word!r}{hint}: it has {', '.join(known)}")


def parse(arguments: Sequence[str]) -> Callable[[], Any]:
    """The command that the arguments name, with its options; it is not run."""
    import tyro
    from tyro.conf import DisallowNone, OmitArgPrefixes, subcommand

    # Colours are not for those who say so (no-color.org).
    tyro._experimental_options["ansi_codes"] = not os.environ.get("NO_COLOR")
    # Shell completion needs all options of all commands.
    every = any(word.startswith("--tyro-") for word in arguments)
    first, second = [*arguments, None, None][:2]
    if first is not None:
        _require_known(first, COMMANDS, "symbayes")
    known: list[Any] = []
    for name, entry in COMMANDS.items():
        if every or name == first:
            command = entry.load()
            if name == first and second is not None and hasattr(command, "subcommands"):
                _require_known(second, command.subcommands, f"symbayes {name}")  # pyright: ignore
            known.append(Annotated[command, subcommand(name, prefix_name=False)])
        else:
            listed = subcommand(name, description=entry.summary, prefix_name=False)
            known.append(Annotated[entry.stand_in(name), listed])
    return tyro.cli(
        Union[tuple(known)],  # type: ignore[arg-type]  # noqa: UP007
        prog="symbayes",
        description=DESCRIPTION,
        args=arguments or ["--help"],
        config=(OmitArgPrefixes, DisallowNone),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 2 bad input, 1 diverged, 130 stopped."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments == ["--version"]:
        print(f"symbayes {__version__}")
        return 0
    keep_compiled()
    use_all_cores(arguments)
    sys.path.insert(0, os.getcwd())  # networks of the user's own are imported from here
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            parse(arguments)()
        except KeyboardInterrupt as stopped:  # of a run that was stopped, it says how far that is
            return _complain(str(stopped) or "stopped", 130)
        except BrokenPipeError:  # as in `symbayes data list | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        except UnknownWord as error:  # without importing what tells other errors apart
            return _complain(str(error), 2)
        except Exception as error:
            return _failed(error)
    return 0


def _failed(error: Exception) -> int:
    """Print what went wrong; an error that is not due to the input is raised again, with its traceback."""
    from jax.errors import JaxRuntimeError

    from symbayes.data import DownloadError
    from symbayes.draws import RunError
    from symbayes.engine import Diverged, Elsewhere

    if isinstance(error, Diverged | Elsewhere):
        return _complain(str(error), 1)
    if isinstance(error, ValueError | TypeError | OSError | RunError | DownloadError):
        return _complain(_sentence(error), 2)
    if isinstance(error, MemoryError) or (isinstance(error, JaxRuntimeError) and "memory" in str(error)):
        return _complain("out of memory: use fewer --chains, a smaller --chunk or a smaller network", 2)
    raise error


def _sentence(error: Exception) -> str:
    """The message about bad input; for errors of the system, the file and what is wrong with it."""
    from symbayes.draws.files import StorageError

    if isinstance(error, StorageError):
        return str(error.strerror)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _complain(message: str, code: int) -> int:
    if _speaks():
        print(f"symbayes: {message}", file=sys.stderr)
    return code


def _speaks() -> bool:
    """Whether this process prints messages: of many processes, only the first does."""
    if "symbayes.cli.hosts" not in sys.modules:
        return True
    from symbayes.cli.hosts import speaks

    return speaks()


def _show_warning(message: Warning | str, *details: Any, **more: Any) -> None:
    if str(message).startswith(FAILED):  # it is compiled instead
        forget_compiled()
    elif _speaks():
        print(f"symbayes: warning: {message}", file=sys.stderr)
