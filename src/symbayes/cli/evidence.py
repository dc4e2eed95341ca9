"""`symbayes evidence`: runs as models of their data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from symbayes.cli.options import SomeRuns, default, require_file, some_words
from symbayes.cli.output import Json, Output
from symbayes.specs import require, require_counts


@dataclass(frozen=True)
class EvidenceCommand:
    """Compare runs as models: by leave-one-out predictions (PSIS-LOO, WAIC), and by evidence.

    The evidence is integrated over a ladder of temperatures, from the posterior to the prior.  Laplace's
    estimate and the variational bound are shown too, for runs that have them, with and without the log number
    of copies that the symmetries of the network make of a mode.

    Example: symbayes evidence runs/hmc-digits --rungs 12

    Attributes:
        runs: folders of the runs, on the same training data.
        ladder: folders of runs of the first one's posterior at other temperatures (--tempers likelihood).
        rungs: draw a ladder of this many rungs, including the prior and the first run, with the method of the
            first run.
        store: folder for the rungs; rungs that are there already are not drawn again.
        out: an HTML file to write the tables and figures to.
        json: a file to write the numbers to; - is the standard output.
    """

    runs: SomeRuns
    ladder: Annotated[tuple[Path, ...], some_words("RUN")] = ()
    rungs: Annotated[int | None, default("none are drawn")] = None
    store: Annotated[Path | None, default("the first run's folder with the ending -ladder")] = None
    out: Annotated[Path | None, default("none", "FILE")] = None
    json: Json = None

    def __call__(self) -> None:
        from rich.console import Console

        from symbayes.analyse.compare import opened_by_name
        from symbayes.analyse.evidence import climb, models
        from symbayes.report.evidence import model_tables, write_models
        from symbayes.report.runs import named
        from symbayes.report.terminal import terminal_table

        require(len(self.runs) > 0, "name at least one run folder")
        require_counts(least=3, rungs=3 if self.rungs is None else self.rungs)
        require(
            self.rungs is None or not self.ladder, "give the runs of a --ladder, or draw one with --rungs"
        )
        require_file("--out", self.out)
        output, first = Output(self.json), self.runs[0]
        with Console(stderr=True).status("opening the runs") as status:
            ladder = [first, *self.ladder] if self.ladder else []
            if self.rungs is not None:
                store = self.store or first.resolve().with_name(f"{first.resolve().name}-ladder")
                ladder = climb(first, store, self.rungs, status.update)
            runs = opened_by_name(named(self.runs))
            found = models(runs, ladder, status.update)
        for table in model_tables(found):
            output.show(terminal_table(table))
        if not found.estimates:
            output.line("no estimate of the evidence yet: draw a ladder of temperatures with --rungs 12")
        if self.out is not None:
            output.line(f"page: {write_models(found, runs, self.out).resolve().as_uri()}")
        output.numbers(found.numbers())
