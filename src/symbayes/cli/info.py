"""`symbayes info`: a summary of a run."""

from __future__ import annotations

from dataclasses import dataclass

from symbayes.cli.options import OneRun
from symbayes.cli.output import Json, Output


@dataclass(frozen=True)
class Info:
    """Show what a run is, whether it has finished, and its acceptance, divergences, R-hat and ESS.

    Example: symbayes info runs/hmc-digits

    Attributes:
        run: folder of the run.
        json: a file to write the same to, as numbers; - is the standard output.
    """

    run: OneRun
    json: Json = None

    def __call__(self) -> None:
        from symbayes.draws import Run
        from symbayes.engine.summary import Summary

        output = Output(self.json)
        summary = Summary.of(Run(self.run))
        output.line(summary)
        output.numbers(summary.numbers())
