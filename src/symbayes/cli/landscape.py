"""`symbayes landscape`: the loss landscape around the draws of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from symbayes.analyse.bounds import Bounds
from symbayes.cli.options import OneRun, default, require_file
from symbayes.cli.output import Json, Output
from symbayes.specs import require_counts


@dataclass(frozen=True)
class LandscapeCommand:
    """Draw the loss on the plane through three networks of a run, and measure mass and curvature.

    The mass is the sum of squares of all weights; it is compared with its minimum over scalings of the units.

    Example: symbayes landscape runs/ensemble-digits

    Attributes:
        run: folder of the run.
        out: the HTML file to write; an existing file is replaced.
        steps: number of places along each side of the plane.
        eigenvalues: number of eigenvalues of the Hessian, the largest ones.
        data: name of the dataset.
        max_examples: the most training examples on which the loss is computed.
        json: a file to write the numbers to; - is the standard output.
    """

    run: OneRun
    out: Annotated[Path | None, default("landscape.html in the run's folder")] = None
    steps: int = 15
    eigenvalues: int = 5
    data: Annotated[str | None, default("the one that the run names")] = None
    max_examples: int = Bounds.examples
    json: Json = None

    def __call__(self) -> None:
        from rich.console import Console

        from symbayes.analyse.landscape import landscape
        from symbayes.cli.evaluate import dataset_of
        from symbayes.draws import Run
        from symbayes.engine import open_run
        from symbayes.report.landscape import landscape_tables, write_landscape
        from symbayes.report.terminal import terminal_table

        require_counts(least=2, steps=self.steps)
        require_counts(eigenvalues=self.eigenvalues, max_examples=self.max_examples)
        require_file("--out", self.out)
        output, run = Output(self.json), open_run(self.run)
        dataset = dataset_of(Run(self.run), self.data)
        bounds = Bounds(examples=self.max_examples)
        with Console(stderr=True).status("opening the run") as status:
            found = landscape(run, dataset, self.steps, self.eigenvalues, bounds, status.update)
            name = self.run.resolve().name
            page = write_landscape(name, run, found, self.out or self.run / "landscape.html")
        for table in landscape_tables(found):
            output.show(terminal_table(table))
        output.line(f"page: {page.resolve().as_uri()}")
        output.numbers(found.numbers())
