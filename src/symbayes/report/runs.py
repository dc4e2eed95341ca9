"""The page about some runs: how well they predict, whether chains have mixed, and what is uncertain."""

from __future__ import annotations

import functools
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from symbayes.analyse import Comparison
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.compare import compare_predictives, opened_by_name
from symbayes.analyse.diagnosis import Diagnosis
from symbayes.analyse.findings import Findings, investigate
from symbayes.analyse.mixing import FORMATS as MIXING_FORMATS
from symbayes.analyse.mixing import mixing
from symbayes.analyse.predicted import Judged, Places
from symbayes.analyse.progress import Tell, silent
from symbayes.brief import counted
from symbayes.data import Dataset, readable
from symbayes.draws import RunError
from symbayes.engine import Opened, Source
from symbayes.posterior import Predictive
from symbayes.report import figures, page, symmetry
from symbayes.report.comparison import comparison_table, good
from symbayes.report.contents import Figure, Section, Table
from symbayes.report.further import further_sections, require_parts
from symbayes.report.numbers import json_text
from symbayes.report.predictions import detection_sections, pair_figures, prediction_sections
from symbayes.report.provenance import provenance
from symbayes.specs import Record, require, require_kind


@dataclass(frozen=True)
class Report:
    """Some runs, their predictions on the test part of a dataset, and the comparison."""

    runs: Mapping[str, Opened]
    reference: str
    data: Dataset
    judged: Mapping[str, Judged]
    comparison: Comparison
    bounds: Bounds = field(default_factory=Bounds)
    tell: Tell = silent
    symmetries: Sequence[str] | None = None
    also: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        sources: Mapping[str, Source] | Sequence[Source] | Source,
        data: Dataset,
        reference: str | None = None,
        bounds: Bounds | None = None,
        tell: Tell = silent,
        *,
        metrics: Sequence[str] | None = None,
        ood: ArrayLike | Mapping[str, ArrayLike] | None = None,
        shift: str | Sequence[str] | None = None,
        recalibrate: str | None = None,
        symmetries: Sequence[str] | None = None,
        also: Sequence[str] = (),
    ) -> Report:
        """Open the runs (folders, draws in memory, or what `open` gave) and predict with them.

        `sources` are runs by name, or a list of them, or a single one.  The first is the `reference` unless
        another is named.

        `bounds` limit the work on symmetry; `tell` receives short messages about progress.  `metrics` names
        the columns of the comparison; `ood`, `shift` and `recalibrate` are those of `compare`.  `symmetries`
        names the runs whose symmetries are analysed, by default all.  `also` names sections that take longer:
        "quality" (distances from the reference) and "landscape".
        """
        require_parts(also)
        require_kind("the data", data, "train", "test", example="data.load('digits')")
        runs = opened_by_name(sources)
        require(len(runs) > 0, "a report is about at least one run")
        for run in runs.values():
            _require_trained_on(run, data)
        reference = reference or next(iter(runs))
        require(reference in runs, f"the reference {reference!r} is not among the runs {', '.join(runs)}")
        for name in symmetries or ():
            require(name in runs, f"{name!r} is not among the runs {', '.join(runs)}")
        places, judged = Places.of(data, ood, shift, None, recalibrate, metrics), {}
        for name, run in runs.items():
            tell(f"{name}: predicting")
            judged[name] = places.judge(run)
        y = np.asarray(data.test.y)
        scaling = data.target_scaling
        comparison = compare_predictives(judged, reference, y, scaling, metrics=metrics, tell=tell)
        return cls(runs, reference, data, judged, comparison, bounds or Bounds(), tell, symmetries, also)

    @property
    def predictives(self) -> dict[str, Predictive]:
        """The predictives of the runs at the test inputs, by name."""
        return {name: one.test for name, one in self.judged.items()}

    def __repr__(self) -> str:
        return (
            f"Report({', '.join(self.runs)} on {self.data.short_name}, {self.comparison.examples:,} examples)"
        )

    def _repr_html_(self) -> str:
        return (
            self.comparison._repr_html_()
            + "<p>show() shows the page here; write(path) writes it to a file.</p>"
        )

    def show(self, height: int = 700) -> Shown:
        """The page within a notebook."""
        return Shown(self.html(), height)

    @functools.cached_property
    def symmetry(self) -> dict[str, Findings]:
        """The findings about every analysed run that has symmetries; computed once."""
        found = {}
        for name in self.runs if self.symmetries is None else self.symmetries:
            findings = investigate(
                self.runs[name],
                self.data,
                self.bounds,
                lambda words, name=name: self.tell(f"{name}: {words}"),
            )
            if findings is not None:
                found[name] = findings
        return found

    def sections(self) -> list[Section]:
        made = [self._comparison(), *self._mixing()]
        made += [symmetry.section(name, findings) for name, findings in self.symmetry.items()]
        made += further_sections(self.also, self.runs, self.reference, self.data, self.bounds, self.tell)
        made += detection_sections(self.judged, self.reference)
        return made + prediction_sections(self.predictives, self.reference, self.data)

    def numbers(self, symmetry: bool = True) -> Record:
        """All results without figures, for JSON; the part about symmetry takes the longest."""
        findings = self.symmetry if symmetry else {}
        return {
            "data": self.data.name,
            "reference": self.reference,
            "test_examples": self.comparison.examples,
            "comparison": {name: dict(row) for name, row in self.comparison.rows.items()},
            "margins": {name: dict(row) for name, row in self.comparison.margins.items()},
            "best": {name: list(runs) for name, runs in self.comparison.best.items()},
            "symmetry": {name: found.numbers() for name, found in findings.items()},
            "provenance": provenance(self.runs),
        }

    def write_numbers(self, path: str | Path, symmetry: bool = True) -> Path:
        """Write the results as JSON; returns the path.  Numbers that are not finite become null."""
        page.write(Path(path), json_text(self.numbers(symmetry)))
        return Path(path)

    def html(self) -> str:
        return page.render(
            title=f"{_some(list(self.runs))} on {self.data.short_name}",
            summary=self._summary(),
            sections=self.sections(),
            provenance=provenance(self.runs),
        )

    def write(self, path: str | Path) -> Path:
        """Write the page; returns its path."""
        page.write(Path(path), self.html())
        return Path(path)

    def _summary(self) -> str:
        if len(self.runs) > RUNS:
            # Their numbers are in the first table.
            return f"{len(self.runs)} runs on {self.comparison.examples:,} test examples."
        lines = []
        for name, run in self.runs.items():
            weights = sum(int(np.prod(shape)) for shape in run.draws.shapes.values())
            numbers = ", ".join(
                f"{metric.name} {self.comparison.text(name, metric, margins=False, mark='')}"
                for metric in self.comparison.told[:NUMBERS]
                if metric.name in self.comparison.rows[name]
            )
            given = run.config["posterior"]["train"]["examples"]
            lines.append(
                f"{name}: {_drawn(run)} of {weights:,} weights given {given:,} training examples; "
                f"on {self.comparison.examples:,} test examples {numbers}."
            )
        return "\n\n".join(lines)

    def _comparison(self) -> Section:
        items = [comparison_table(self.comparison), *pair_figures(self.predictives, self.reference)]
        lead = "All runs on the same test examples, with predictions averaged over draws."
        told = [metric for metric in self.comparison.told if metric.better is not None]
        if told:
            lead += (
                f" A good run has {good(told)}. The best run of each column, and those not significantly "
                "different from it, are shaded."
            )
        return Section("Comparison", lead, items)

    def _mixing(self) -> list[Section]:
        items: list[Table | Figure] = []
        weight, function, rows, told = {}, {}, [], []
        for name, run in self.runs.items():
            items += _traces(name, run)
            found = mixing(run, self.judged[name].before or self.judged[name].test, self.bounds.weights)
            if found:
                weight[name], function[name] = found["weights"].rhat, found["predictions"].rhat
                values = {space: mixed.values for space, mixed in found.items()}
                told.append(f"{name}: {' '.join(Diagnosis.of(run.draws, values).verdict)}")
            for space, mixed in found.items():
                rows.append([f"{name}, {SPACES[space]}", *mixed.numbers().values()])
        if weight:
            items.append(figures.rhat_histograms(weight, function))
            items.append(Table(["quantity", *MIXING_FORMATS], rows, MIXING_CAPTION, MIXING_FORMATS))
        if not items:
            return []
        lead = (
            "Energy traces show whether chains have settled. R-hat compares chains with one another, in "
            "the space of weights and in the space of predictions. Networks that differ by a permutation of "
            "neurons are different points in the first space and the same point in the second."
        )
        return [Section("Have the chains mixed?", "\n\n".join([lead, *told]), items)]


@dataclass(frozen=True, repr=False)
class Shown:
    """A page that a notebook shows in a frame of its own."""

    page: str
    height: int

    def __repr__(self) -> str:
        return f"Shown(a page of {len(self.page):,} characters)"

    def _repr_html_(self) -> str:
        frame = f'width="100%" height="{self.height}" style="border:1px solid #ccc"'
        return f'<iframe srcdoc="{html.escape(self.page)}" {frame}></iframe>'


SPACES = {"weights": "weights", "predictions": "test predictions"}
MIXING_CAPTION = "Rank-normalised split R-hat and effective sample sizes of all chains (Vehtari et al. 2021)."


RUNS, NUMBERS = 6, 8
"""The most runs that are summarised one by one, and the number of metrics for each."""


def _some(names: list[str]) -> str:
    """All names, or the first ones and how many more."""
    if len(names) <= RUNS:
        return ", ".join(names)
    first = names[: RUNS // 2]
    return f"{', '.join(first)} and {len(names) - len(first)} more"


def _drawn(run: Opened) -> str:
    """A phrase about the draws of a run."""
    chains, draws = run.draws.chains, len(run.draws)
    if run.draws.forward.kind == "keyed":
        return f"{counted(chains, 'trained network')}, each with {counted(draws, 'random mask')},"
    if draws == 1:  # where training ended, and not a draw from the posterior
        return counted(chains, "network")
    law = "the posterior" if run.distribution is None else "a distribution fitted to the posterior"
    return f"{counted(chains, 'chain')} of {draws:,} draws from {law}"


def _traces(name: str, run: Opened) -> list[Figure]:
    """Energy and acceptance where draws follow one another, the loss where a run was trained."""
    stats, traces = run.draws.stats, run.traces
    walked = run.distribution is None and run.draws.forward.kind != "keyed"
    if len(run.draws) > 1 and walked and "energy" in stats:
        burn_in = run.config["method"].get("burn_in", 0)
        before = traces["energy"][:, :burn_in] if "energy" in traces and burn_in else None
        return [figures.traces(stats["energy"], stats.get("acceptance"), before)]
    if "loss" not in traces:
        return []
    losses = traces["loss"]
    share = np.linspace(0, 100, losses.shape[1] + 1)[1:]
    series = {f"member {i + 1}": (share, member) for i, member in enumerate(losses)}
    title = f"Training of {name}"
    caption = (
        "Training has converged where the lines are flat. A line that still falls needs more epochs, and "
        "one that jumps needs a smaller learning rate."
    )
    return [figures.curves(series, "share of the training (%)", "loss per example (nats)", title, caption)]


def _require_trained_on(run: Opened, data: Dataset) -> None:
    if run.train_checksum != data.train.checksum():
        raise RunError(
            f"{run.path or 'a run in memory'} was not conditioned on the training part of "
            f"{readable(data.name)}: give its own dataset with --data"
        )


def named(paths: Sequence[str | Path]) -> dict[str, Path]:
    """Runs by the names of their folders, or by their paths where names repeat."""
    folders = [Path(path) for path in paths]
    names = [folder.resolve().name for folder in folders]
    return {
        name if names.count(name) == 1 else str(folder): folder
        for name, folder in zip(names, folders, strict=True)
    }
