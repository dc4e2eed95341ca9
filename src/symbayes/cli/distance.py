"""`symbayes distance`: how far the draws of a run are from those of a reference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from symbayes.analyse.bounds import Bounds
from symbayes.cli.options import OneRun, default, require_file
from symbayes.cli.output import Json, Output
from symbayes.evaluate.mmd import PERMUTATIONS
from symbayes.specs import require_counts


@dataclass(frozen=True)
class Distance:
    """Measure how far the draws of a run are from those of a reference, in weights and in functions.

    Prints maximum mean discrepancy and sliced Wasserstein distance of each layer and of all weights, raw and
    in canonical form, with a test that permutes chains.  The floor is the distance between the two halves of
    the reference.

    Example: symbayes distance runs/ensemble-digits runs/hmc-digits

    Attributes:
        run: folder of the run.
        reference: folder of the run that it is compared with, of the same network.
        out: an HTML file to write the tables to.
        data: name of the dataset; functions are compared at its test inputs.
        max_draws: the most draws of each set, evenly spaced.
        permutations: the most permutations of chains in the test.
        json: a file to write the numbers to; - is the standard output.
    """

    run: OneRun
    reference: Positional[Annotated[Path, arg(metavar="REFERENCE")]]
    out: Annotated[Path | None, default("none", "FILE")] = None
    data: Annotated[str | None, default("the one that the run names")] = None
    max_draws: int = 300
    permutations: int = PERMUTATIONS
    json: Json = None

    def __call__(self) -> None:
        from rich.console import Console

        from symbayes.analyse.quality import quality
        from symbayes.cli.evaluate import dataset_of
        from symbayes.draws import Run
        from symbayes.engine import open_run
        from symbayes.report.quality import quality_tables, write_quality
        from symbayes.report.runs import named
        from symbayes.report.terminal import terminal_table

        require_counts(max_draws=self.max_draws, permutations=self.permutations)
        require_file("--out", self.out)
        output = Output(self.json)
        x = dataset_of(Run(self.run), self.data).test.x
        run, reference = open_run(self.run), open_run(self.reference)
        with Console(stderr=True).status("opening the runs") as status:
            bounds = Bounds(draws=self.max_draws)
            found = quality(run, reference, x, bounds, self.permutations, status.update)
        for table in quality_tables(found):
            output.show(terminal_table(table))
        if self.out is not None:
            runs = dict(zip(named([self.run, self.reference]), (run, reference), strict=True))
            output.line(f"page: {write_quality(found, runs, self.out).resolve().as_uri()}")
        output.numbers(found.numbers())
