"""The command `symbayes`: draw, evaluate, report.

One subcommand per method is made from its dataclass, so a method's hyper-parameters are its options.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union, get_type_hints

import jax
import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import OmitArgPrefixes, Positional, subcommand

from symbayes import data, engine, networks, symmetry
from symbayes.draws import Run, RunError
from symbayes.draws.files import StorageError
from symbayes.engine import Diverged, Stopped
from symbayes.methods import METHODS
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.posterior.posterior import Precision, Tempers
from symbayes.report import Report
from symbayes.report.runs import named
from symbayes.specs import require
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


@dataclass(frozen=True)
class Target:
    """What is drawn from: a network with a Gaussian prior, given a dataset.

    Attributes:
        data: name of the dataset; `symbayes data list` shows them.
        network: mlp, lenet, cnn, resnet20-frn, resnet18, alexnet, cnn-lstm, transformer, or one of your own
            as module:attribute.
        hidden: widths of the hidden layers of an mlp (default: 32).
        option: further options of the network, each as name=value.
        prior_scale: standard deviation of the Gaussian prior on every weight and bias.
        noise: standard deviation of the targets' noise, for regression.
        temperature: below one is a cold posterior.
        tempers: what the temperature divides: the whole log posterior, or the log likelihood only.
        precision: of the matrix products in gradients, where the hardware has a choice.
        chunk: examples in memory at once in a full-batch gradient (default: what fits).
    """

    data: str = "digits"
    network: str = "mlp"
    hidden: tuple[int, ...] | None = None
    option: tuple[str, ...] = ()
    prior_scale: float = 0.5
    noise: float = 0.1
    temperature: float = 1.0
    tempers: Tempers = "posterior"
    precision: Precision = "float32"
    chunk: int | None = None

    def posterior(self) -> tuple[Posterior, data.Dataset]:
        dataset = data.load(self.data)
        classification = dataset.classes is not None
        outputs = dataset.classes or dataset.train.y.shape[1]
        options = dict(_option(text) for text in self.option)
        if self.hidden is not None:
            options["hidden"] = self.hidden
        return (
            Posterior(
                networks.make(self.network, outputs=outputs, **options),
                likelihoods.Categorical() if classification else likelihoods.Gaussian(self.noise),
                priors.Normal(self.prior_scale),
                dataset.train,
                dataset.validation if len(dataset.validation) else None,
                temperature=self.temperature,
                tempers=self.tempers,
                precision=self.precision,
                chunk=self.chunk,
            ),
            dataset,
        )


def _option(text: str) -> tuple[str, Any]:
    """A network's option from ``name=value``, where the value is JSON or else a plain word."""
    name, equals, value = text.partition("=")
    require(bool(name and equals), f"an option is written name=value, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@dataclass(frozen=True)
class Where:
    """Where a run goes and where it begins.

    Attributes:
        store: folder of the run (default: runs/METHOD-DATA); a run that is there already goes on.
        seed: the same seed gives the same draws.
        start: folder of another run, from whose last draws the chains begin.
        keep: keep every n-th draw; 0 keeps none.
    """

    store: Path | None = None
    seed: int = 0
    start: Path | None = None
    keep: int = 1


def _sample(method: Any, target: Target, where: Where) -> None:
    posterior, dataset = target.posterior()
    store = where.store or Path("runs") / f"{method.name}-{dataset.name}"
    console = Console(stderr=True)
    if not (store / "config.json").exists():
        console.print(f"{method.name}: {engine.estimate(method, posterior)}", highlight=False)
    draws = engine.run(
        method,
        posterior,
        seed=where.seed,
        store=store,
        start=None if where.start is None else Run(where.start).draws,
        keep=where.keep,
        progress=True,
        about={"data": dataset.name},
    )
    print(draws)
    if draws.segments:
        Console().print(Report.of({store.name: store}, dataset).comparison.terminal_table())
        print(f"for a page about it: symbayes report {store}")


@dataclass(frozen=True)
class Evaluate:
    """Accuracy, calibration and agreement of runs, on the test part of their dataset.

    Attributes:
        runs: folders of the runs; the first is the reference of agreement and total variation.
        data: name of the dataset, if the runs do not tell.
    """

    runs: Positional[tuple[Path, ...]]
    data: str | None = None

    def __call__(self) -> None:
        Console().print(_report(self.runs, self.data).comparison.terminal_table())


@dataclass(frozen=True)
class ReportCommand:
    """A self-contained HTML page about runs: comparison, traces, R-hat, calibration, what is unsure.

    Attributes:
        runs: folders of the runs; the first is the reference.
        out: the page (default: report.html in the first run's folder).
        data: name of the dataset, if the runs do not tell.
    """

    runs: Positional[tuple[Path, ...]]
    out: Path | None = None
    data: str | None = None

    def __call__(self) -> None:
        report = _report(self.runs, self.data)
        page = report.write(self.out or self.runs[0] / "report.html")
        Console().print(report.comparison.terminal_table())
        print(f"page: {page.resolve().as_uri()}")


@dataclass(frozen=True)
class Symmetries:
    """The weight-space symmetries of a network, found from its program.

    Attributes:
        network: a network by name (see `symbayes sample hmc --help`), or the folder of a run.
        data: name of the dataset that the network is for.
    """

    network: Positional[str]
    data: str = "digits"

    def __call__(self) -> None:
        dataset = data.load(self.data)
        x = jax.numpy.asarray(dataset.test.x[:2])
        if (Path(self.network) / "config.json").is_file():
            network = engine.reopen(self.network).network
        else:
            outputs = dataset.classes or dataset.test.y.shape[1]
            network = networks.make(self.network, outputs=outputs)
        print(symmetry.discover(network.apply, network.init(jax.random.key(0), x), x))


def _report(paths: Sequence[Path], name: str | None) -> Report:
    require(len(paths) > 0, "name at least one run folder")
    runs = named(paths)
    name = name or Run(next(iter(runs.values()))).config.get("about", {}).get("data")
    if name is None:
        raise ValueError("the run does not tell its dataset: name it with --data")
    return Report.of(runs, data.load(name))


@dataclass(frozen=True)
class ListData:
    """Show the datasets by name, and which are here."""

    def __call__(self) -> None:
        table = Table()
        for column in ("name", "what", "here"):
            table.add_column(column)
        for listing in data.list_datasets():
            here = "embedded" if listing.embedded else str(listing.found_in or "–")
            table.add_row(listing.name, listing.description, here)
        Console().print(table)


@dataclass(frozen=True)
class FetchData:
    """Download a dataset's files, with progress, resume and checksum.

    Attributes:
        name: of the dataset.
    """

    name: Positional[str]

    def __call__(self) -> None:
        for path in data.fetch(self.name):
            print(path)


@dataclass(frozen=True)
class CheckData:
    """Verify a dataset's files: formats, counts, checksums.

    Attributes:
        name: of the dataset.
    """

    name: Positional[str]

    def __call__(self) -> None:
        results = data.check(self.name)
        for result in results:
            print(f"{result.path}: {result.problem or 'right'} (by {result.verified_by})")
        require(not any(result.problem for result in results), f"{self.name} has damaged files")


def _sample_command(name: str, method: type) -> Any:
    """The subcommand of one method, with the fields of its dataclass as options."""

    def call(self: Any) -> None:
        _sample(method(**vars(self.method)), self.target, self.where)

    command = dataclasses.make_dataclass(
        f"Sample{method.__name__}",
        [
            ("method", _unchecked(method)),
            ("target", Target, dataclasses.field(default_factory=Target)),
            ("where", Where, dataclasses.field(default_factory=Where)),
        ],
        namespace={"__call__": call},
        frozen=True,
    )
    summary = (method.__doc__ or "").partition("\n\n")[0]
    return Annotated[command, subcommand(name, description=summary, prefix_name=False)]


def _unchecked(method: type) -> type:
    """The same fields without validation: it comes when the method is made, with our own words."""
    hints = get_type_hints(method)
    fields = [
        (f.name, hints[f.name], dataclasses.field(default=f.default)) for f in dataclasses.fields(method)
    ]
    twin = dataclasses.make_dataclass(method.__name__, fields, frozen=True)
    twin.__doc__ = method.__doc__
    return twin


def _group(name: str, doc: str, commands: Sequence[Any]) -> Any:
    """A command that only has subcommands."""

    def call(self: Any) -> None:
        self.command()

    group = dataclasses.make_dataclass(
        name,
        [("command", Union[tuple(commands)])],  # noqa: UP007
        namespace={"__call__": call},
        frozen=True,
    )
    group.__doc__ = doc
    return group


Sample = _group(
    "Sample",
    "Draw from a posterior with one of the methods, into a run folder that can be resumed.",
    [_sample_command(name, method) for name, method in METHODS.items()],
)
Data = _group(
    "Data",
    "The datasets: list them, fetch one, check one.",
    [
        Annotated[ListData, subcommand("list", prefix_name=False)],
        Annotated[FetchData, subcommand("fetch", prefix_name=False)],
        Annotated[CheckData, subcommand("check", prefix_name=False)],
    ],
)

Command = Union[  # noqa: UP007
    Annotated[Demo, subcommand("demo", prefix_name=False)],
    Annotated[Sample, subcommand("sample", prefix_name=False)],  # type: ignore[valid-type]
    Annotated[Evaluate, subcommand("evaluate", prefix_name=False)],
    Annotated[ReportCommand, subcommand("report", prefix_name=False)],
    Annotated[Symmetries, subcommand("symmetries", prefix_name=False)],
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


if __name__ == "__main__":
    sys.exit(main())
