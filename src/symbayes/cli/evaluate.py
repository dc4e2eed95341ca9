"""`symbayes evaluate` and `symbayes report`: results about runs, in the terminal and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from tyro.conf import arg

from symbayes import data
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.compare import compare, opened_by_name
from symbayes.analyse.in_batches import fitting_batch
from symbayes.analyse.predicted import Places
from symbayes.analyse.tables import require_ending
from symbayes.cli.options import SomeRuns, default, require_file, some_words
from symbayes.cli.output import Json, Output
from symbayes.draws import Run
from symbayes.engine import Opened
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
        shift: shifts of the test images; scores are also computed under each: fog, or fog:5 for one severity.
        recalibrate: recalibrate probabilities with a map that is fitted for each run on the validation part:
            temperature, vector, dirichlet or isotonic.
        save: files to write the table to (.md, .csv, .tex or .json), or a page (.html).
        batch: number of examples to predict at once, where predictions of all draws do not fit in memory.
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
    batch: Annotated[int | None, default("all, or as many as fit")] = None
    data: Annotated[str | None, default("the one that the first run names")] = None
    json: Json = None

    def __call__(self) -> None:
        output = Output(self.json)
        for path in self.save:
            require_file("--save", path)
            require_ending(path, (".html",))
        require_counts(batch=1 if self.batch is None else self.batch)
        asked = _asked(self.runs, self.data, self.ood, self.reference)
        options: dict[str, Any] = {
            "metrics": self.metrics,
            "ood": asked.ood,
            "shift": self.shift,
            "recalibrate": self.recalibrate,
        }
        batch = self.batch
        if batch is None:
            places = Places.of(asked.dataset, asked.ood, self.shift, None, self.recalibrate, self.metrics)
            batch = fitting_batch(asked.runs, places)
        if batch is not None:
            self._in_batches(output, asked, batch, options)
            return
        with Console(stderr=True).status("predicting") as status:
            report = Report.of(asked.runs, asked.dataset, asked.reference, tell=status.update, **options)
        output.show(report.comparison)
        for path in self.save:
            written = report.write(path) if path.suffix == ".html" else report.comparison.save(path)
            output.line(f"saved: {written}")
        if output.wanted:
            output.numbers(report.numbers(symmetry=False))

    def _in_batches(self, output: Output, asked: Asked, batch: int, options: Mapping[str, Any]) -> None:
        """Show the table alone: a page would need the predictions of every draw."""
        require(
            not any(path.suffix == ".html" for path in self.save),
            "a page needs the predictions of all draws in memory, but these are made "
            f"{batch:,} examples at a time: save the table as .md, .csv, .tex or .json, or thin the draws",
        )
        with Console(stderr=True).status(f"predicting {batch:,} examples at a time"):
            found = compare(asked.runs, asked.reference, asked.dataset, batch=batch, **options)
        output.show(found)
        for path in self.save:
            output.line(f"saved: {found.save(path)}")
        if output.wanted:
            told = found.numbers()
            output.numbers({"data": asked.dataset.name, "comparison": told.pop("rows")} | told)


@dataclass(frozen=True)
class ReportCommand:
    """Write an HTML page about runs: comparison, mixing, symmetry, calibration, uncertainty.

    Example: symbayes report runs/hmc-digits runs/ensemble-digits --out page.html

    Attributes:
        runs: folders of the runs; the first is the reference of agreement and total variation.
        ood: names of other datasets, whose test inputs are out of distribution.
        also: sections that take longer: quality (the distances of each run from the first one, in weights and
            functions) and landscape (the loss around each run).
        out: the HTML file to write; an existing file is replaced.
        json: a file to write all results to, as numbers; - is the standard output.
        data: name of the dataset.
        max_draws: the most draws whose symmetries are removed, evenly spaced.
        max_examples: the most examples on which networks are evaluated in the section about symmetry.
    """

    runs: SomeRuns
    ood: Annotated[tuple[str, ...], some_words("NAME")] = ()
    also: Annotated[tuple[str, ...], some_words("PART")] = ()
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
            asked = _asked(self.runs, self.data, self.ood)
            report = Report.of(
                asked.runs,
                asked.dataset,
                asked.reference,
                bounds,
                status.update,
                ood=asked.ood,
                also=self.also,
            )
            page = report.write(self.out or self.runs[0] / "report.html")
            numbers = report.numbers() if output.wanted else None
        output.show(report.comparison)
        output.line(f"page: {page.resolve().as_uri()}")
        output.numbers(numbers)


@dataclass(frozen=True)
class Asked:
    """The runs that a command names, opened, with dataset, reference and out-of-distribution inputs."""

    runs: Mapping[str, Opened]
    dataset: data.Dataset
    reference: str
    ood: Mapping[str, Any]


def _asked(
    paths: Sequence[Path], name: str | None, ood: Sequence[str] = (), reference: Path | None = None
) -> Asked:
    require(len(paths) > 0, "name at least one run folder")
    resolved = [path.resolve() for path in paths]
    if reference is not None and reference.resolve() not in resolved:
        paths, resolved = [*paths, reference], [*resolved, reference.resolve()]
    runs = named(paths)
    first = list(runs)[0 if reference is None else resolved.index(reference.resolve())]
    dataset = dataset_of(Run(next(iter(runs.values()))), name)
    foreign = {other: _foreign(other, dataset) for other in ood}
    return Asked(opened_by_name(runs), dataset, first, foreign)


def _foreign(name: str, dataset: data.Dataset) -> Any:
    """Test inputs of another dataset, which must have the shape of this one's."""
    inputs = data.load(name).test.x
    wanted, found = dataset.test.x.shape[1:], inputs.shape[1:]
    require(
        found == wanted,
        f"--ood {name} has inputs of shape {found}, but {data.readable(dataset.name)} of shape {wanted}",
    )
    return inputs


def dataset_of(run: Run, name: str | None = None) -> data.Dataset:
    """The dataset with this name, or the one that the run names."""
    name = name or run.config.get("about", {}).get("data")
    if name is None:
        raise ValueError("the run does not name its dataset: give it with --data")
    return data.load(name)
