"""`symbayes diagnose`: whether the chains of runs have mixed, and what to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from symbayes.cli.options import SomeRuns, default
from symbayes.cli.output import Json, Output


@dataclass(frozen=True)
class Diagnose:
    """Check whether the chains of runs have mixed, in functions and in weights, and say what to change.

    Prints R-hat and effective sample sizes of predictions, of weights, and of weights after removing
    symmetries, those of aligned draws of the prior as a control, and a verdict in words.

    Example: symbayes diagnose runs/hmc-digits

    Attributes:
        runs: folders of the runs.
        data: name of the dataset; functions are compared at its test inputs.
        align: also compare weights after alignment, which takes the longest.
        json: a file to write the numbers to; - is the standard output.
    """

    runs: SomeRuns
    data: Annotated[str | None, default("the one that each run names")] = None
    align: bool = True
    json: Json = None

    def __call__(self) -> None:
        from rich.console import Console

        from symbayes.analyse import diagnose
        from symbayes.cli.evaluate import dataset_of
        from symbayes.draws import Run
        from symbayes.report.runs import named

        output, found = Output(self.json), {}
        for name, path in named(self.runs).items():
            x = dataset_of(Run(path), self.data).test.x
            with Console(stderr=True).status("opening the run") as status:
                found[name] = diagnose(path, x, aligned=self.align, tell=status.update)
            output.line(f"{name}\n\n{found[name]}\n")
        output.numbers({name: diagnosis.numbers() for name, diagnosis in found.items()})
