"""`symbayes evaluate` and `symbayes report`: what is known of runs, in the terminal and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import arg

from symbayes import data
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.progress import Tell, silent
from symbayes.cli.options import SomeRuns, default, require_file
from symbayes.cli.output import Json, Output
from symbayes.draws import Run
from symbayes.evaluate import METRICS
from symbayes.report import Report
from symbayes.report.runs import named
from symbayes.specs import require, require_counts

WHICH_METRICS = arg(
    metavar="NAME [NAME ...]",
    help=f"what to tell of the runs, of {', '.join(dict.fromkeys(row.name for row in METRICS))}.",
    help_behavior_hint="(default: the usual ones for the kind of target)",
)


@dataclass(frozen=True)
class Evaluate:
    """Accuracy, calibration and agreement of runs, on the test part of their dataset.

    Example: symbayes evaluate runs/hmc-digits runs/ensemble-digits --metrics accuracy nll agreement

    Attributes:
        runs: folders of the runs; the first is the reference of agreement and total variation.
        metrics: what to tell of them.
        ood: name of another dataset, whose test inputs are those from elsewhere for AUROC and FPR95.
        data: name of the dataset.
        json: a file to write the numbers of the table to; - is the standard output.
    """

    runs: SomeRuns
    metrics: Annotated[tuple[str, ...] | None, WHICH_METRICS] = None
    ood: Annotated[str | None, default("none")] = None
    data: Annotated[str | None, default("the one that the first run names")] = None
    json: Json = None

    def __call__(self) -> None:
        output = Output(self.json)
        report = _report(self.runs, self.data, metrics=self.metrics, ood=self.ood)
        output.show(report.comparison)
        if output.wanted:
            output.numbers(report.numbers(symmetry=False))


@dataclass(frozen=True)
class ReportCommand:
    """A self-contained HTML page about runs: comparison, mixing, symmetry, calibration, what is unsure.

    Example: symbayes report runs/hmc-digits runs/ensemble-digits --out page.html

    Attributes:
        runs: folders of the runs; the first is the reference of agreement and total variation.
        out: the HTML file to write; one that is there is replaced.
        json: a file to write all results to, as numbers; - is the standard output.
        data: name of the dataset.
        max_draws: the most draws whose symmetries are removed, chosen evenly.
        max_examples: the most examples on which networks are tried in the part about symmetry.
    """

    runs: SomeRuns
    out: Annotated[Path | None, default("report.html in the first run's folder")] = None
    json: Json = None
    data: Annotated[str | None, default("the one that the first run names")] = None
    max_draws: int = Bounds.draws
    max_examples: int = Bounds.examples

    def __call__(self) -> None:
        require_counts(max_draws=self.max_draws, max_examples=self.max_examples)
        require_file("--out", self.out)
        output = Output(self.json)
        bounds = Bounds(draws=self.max_draws, examples=self.max_examples)
        with Console(stderr=True).status("opening the runs") as status:
            report = _report(self.runs, self.data, bounds, status.update)
            page = report.write(self.out or self.runs[0] / "report.html")
            numbers = report.numbers() if output.wanted else None
        output.show(report.comparison)
        output.line(f"page: {page.resolve().as_uri()}")
        output.numbers(numbers)


def _report(
    paths: Sequence[Path],
    name: str | None,
    bounds: Bounds | None = None,
    tell: Tell = silent,
    metrics: Sequence[str] | None = None,
    ood: str | None = None,
) -> Report:
    require(len(paths) > 0, "name at least one run folder")
    runs = named(paths)
    dataset = dataset_of(Run(next(iter(runs.values()))), name)
    foreign = None if ood is None else data.load(ood).test.x
    if foreign is not None:
        wanted, found = dataset.test.x.shape[1:], foreign.shape[1:]
        require(
            found == wanted, f"--ood {ood} has inputs of shape {found}, but {dataset.name} of shape {wanted}"
        )
    return Report.of(runs, dataset, bounds=bounds, tell=tell, metrics=metrics, ood=foreign)


def dataset_of(run: Run, name: str | None = None) -> data.Dataset:
    """The dataset of this name, or the one that the run tells."""
    name = name or run.config.get("about", {}).get("data")
    if name is None:
        raise ValueError("the run does not tell its dataset: name it with --data")
    return data.load(name)
