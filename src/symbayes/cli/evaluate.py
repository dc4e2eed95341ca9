"""`symbayes evaluate` and `symbayes report`: what is known of runs, in the terminal and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from symbayes import data
from symbayes.draws import Run
from symbayes.report import Report
from symbayes.report.runs import named
from symbayes.report.symmetry import Bounds
from symbayes.report.symmetry.subject import Tell, silent
from symbayes.specs import require


@dataclass(frozen=True)
class Evaluate:
    """Accuracy, calibration and agreement of runs, on the test part of their dataset.

    Attributes:
        runs: folders of the runs; the first is the reference of agreement and total variation.
        data: name of the dataset, if the runs do not tell.
        json: a file for the numbers of the table.
    """

    runs: Positional[tuple[Path, ...]]
    data: str | None = None
    json: Path | None = None

    def __call__(self) -> None:
        report = _report(self.runs, self.data)
        Console().print(report.comparison.terminal_table())
        if self.json is not None:
            report.write_numbers(self.json, symmetry=False)


@dataclass(frozen=True)
class ReportCommand:
    """A self-contained HTML page about runs: comparison, mixing, symmetry, calibration, what is unsure.

    Attributes:
        runs: folders of the runs; the first is the reference.
        out: the page (default: report.html in the first run's folder).
        json: a file for all results as numbers.
        data: name of the dataset, if the runs do not tell.
        max_draws: the most draws whose symmetries are removed, chosen evenly.
        max_examples: the most examples on which networks are tried in the part about symmetry.
    """

    runs: Positional[tuple[Path, ...]]
    out: Path | None = None
    json: Path | None = None
    data: str | None = None
    max_draws: int = Bounds.draws
    max_examples: int = Bounds.examples

    def __call__(self) -> None:
        bounds = Bounds(draws=self.max_draws, examples=self.max_examples)
        with Console(stderr=True).status("opening the runs") as status:
            report = _report(self.runs, self.data, bounds, status.update)
            page = report.write(self.out or self.runs[0] / "report.html")
            if self.json is not None:
                report.write_numbers(self.json)
        Console().print(report.comparison.terminal_table())
        print(f"page: {page.resolve().as_uri()}")


def _report(
    paths: Sequence[Path], name: str | None, bounds: Bounds | None = None, tell: Tell = silent
) -> Report:
    require(len(paths) > 0, "name at least one run folder")
    runs = named(paths)
    dataset = dataset_of(Run(next(iter(runs.values()))), name)
    return Report.of(runs, dataset, bounds=bounds, tell=tell)


def dataset_of(run: Run, name: str | None = None) -> data.Dataset:
    """The dataset of this name, or the one that the run tells."""
    name = name or run.config.get("about", {}).get("data")
    if name is None:
        raise ValueError("the run does not tell its dataset: name it with --data")
    return data.load(name)
