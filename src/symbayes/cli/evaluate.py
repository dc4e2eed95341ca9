"""`symbayes evaluate` and `symbayes report`: what is known of runs, in the terminal and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from tyro.conf import arg

from symbayes import data
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.progress import Tell, silent
from symbayes.analyse.tables import require_ending
from symbayes.cli.options import SomeRuns, default, require_file, some_words
from symbayes.cli.output import Json, Output
from symbayes.draws import Run
from symbayes.evaluate import METRICS
from symbayes.report import Report
from symbayes.report.runs import named
from symbayes.specs import require, require_counts

WHICH_METRICS = arg(
    metavar="NAME [NAME ...]",
    help=f"metrics to show, of {', '.join(dict.fromkeys(row.name for row in METRICS))}.",
    help_behavior_hint="(default: the usual ones for the kind of target)",
)


@dataclass(frozen=True)
class Evaluate:
    """Compare runs on the test part of their dataset: accuracy, calibration, agreement and more.

    Example: symbayes evaluate runs/hmc-digits runs/ensemble-digits --metrics accuracy nll agreement

    Attributes:
        runs: folders of the runs.
        reference: the run that the others are compared with by agreement and total variation; one of them or
            a further one.
        metrics: metrics to show.
        ood: names of other datasets, whose test inputs are out of distribution, for AUROC and FPR95.
        shift: shifts of the test images under which runs are scored too: fog, or fog:5 for one severity.
        recalibrate: a map of probabilities, fitted for each run on the validation part: temperature, vector,
            dirichlet or isotonic.
        save: files to write the table to, as .md, .csv, .tex, .json, or as a page .html.
        data: name of the dataset.
        json: a file to write the numbers of the table to; - is the standard output.
    """

    runs: SomeRuns
    reference: Annotated[Path | None, default("the first run", "RUN")] = None
    metrics: Annotated[tuple[str, ...] | None, WHICH_METRICS] = None
    ood: Annotated[tuple[str, ...], some_words("NAME")] = ()
    shift: Annotated[tuple[str, ...], some_words("NAME")] = ()
    recalibrate: Annotated[str | None, default("none", "NAME")] = None
    save: Annotated[tuple[Path, ...], some_words("FILE")] = ()
    data: Annotated[str | None, default("the one that the first run names")] = None
    json: Json = None

    def __call__(self) -> None:
        output = Output(self.json)
        for path in self.save:
            require_file("--save", path)
            require_ending(path, (".html",))
        report = _report(
            self.runs,
            self.data,
            metrics=self.metrics,
            ood=self.ood,
            shift=self.shift,
            recalibrate=self.recalibrate,
            reference=self.reference,
        )
        output.show(report.comparison)
        for path in self.save:
            written = report.write(path) if path.suffix == ".html" else report.comparison.save(path)
            output.line(f"saved: {written}")
        if output.wanted:
            output.numbers(report.numbers(symmetry=False))


@dataclass(frozen=True)
class ReportCommand:
    """Write an HTML page about runs: comparison, mixing, symmetry, calibration, uncertainty.

    Example: symbayes report runs/hmc-digits runs/ensemble-digits --out page.html

    Attributes:
        runs: folders of the runs; the first is the reference of agreement and total variation.
        ood: names of other datasets, whose test inputs are out of distribution.
        out: the HTML file to write; an existing file is replaced.
        json: a file to write all results to, as numbers; - is the standard output.
        data: name of the dataset.
        max_draws: the most draws whose symmetries are removed, chosen evenly.
        max_examples: the most examples on which networks are tried in the part about symmetry.
    """

    runs: SomeRuns
    ood: Annotated[tuple[str, ...], some_words("NAME")] = ()
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
            report = _report(self.runs, self.data, bounds, status.update, ood=self.ood)
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
    ood: Sequence[str] = (),
    shift: Sequence[str] = (),
    recalibrate: str | None = None,
    reference: Path | None = None,
) -> Report:
    require(len(paths) > 0, "name at least one run folder")
    resolved = [path.resolve() for path in paths]
    if reference is not None and reference.resolve() not in resolved:
        paths, resolved = [*paths, reference], [*resolved, reference.resolve()]
    runs = named(paths)
    first = None if reference is None else list(runs)[resolved.index(reference.resolve())]
    dataset = dataset_of(Run(next(iter(runs.values()))), name)
    return Report.of(
        runs,
        dataset,
        first,
        bounds,
        tell,
        metrics=metrics,
        ood={other: _foreign(other, dataset) for other in ood},
        shift=shift,
        recalibrate=recalibrate,
    )


def _foreign(name: str, dataset: data.Dataset) -> Any:
    """Test inputs of another dataset, which must have the shape of this one's."""
    inputs = data.load(name).test.x
    wanted, found = dataset.test.x.shape[1:], inputs.shape[1:]
    require(
        found == wanted, f"--ood {name} has inputs of shape {found}, but {dataset.name} of shape {wanted}"
    )
    return inputs


def dataset_of(run: Run, name: str | None = None) -> data.Dataset:
    """The dataset of this name, or the one that the run tells."""
    name = name or run.config.get("about", {}).get("data")
    if name is None:
        raise ValueError("the run does not tell its dataset: name it with --data")
    return data.load(name)
