"""`symbayes compact`: a Gaussian, or few networks in few bits, in place of many draws."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console

from symbayes import engine, symmetry
from symbayes.analyse.aligned import movable
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.compactness import compactness, held_out
from symbayes.cli.evaluate import dataset_of
from symbayes.cli.options import OneRun, default
from symbayes.cli.output import Json, Output
from symbayes.distributions import largest_rank, weight_count
from symbayes.draws import Run
from symbayes.report.symmetry import compactness_table
from symbayes.report.terminal import terminal_table
from symbayes.specs import require, require_counts, require_positive


@dataclass(frozen=True)
class Compact:
    """Fit a compact posterior to half of a run's chains, and compare its predictions with the other half.

    A Gaussian is fitted and compared with the mean network and with stored draws of a similar size.  With the
    option --bits, draws are also rounded to that many bits per weight, and some are chosen whose average
    predicts as all draws do.

    Example: symbayes compact runs/hmc-digits --bits 2.5

    Attributes:
        run: folder of the run.
        rank: rank of the Gaussian's covariance, in addition to its diagonal.
        align: also fit draws with symmetries removed; the table then shows both.
        bits: bits per weight of the rounded networks; from about 2 bits on, little is lost.
        networks: number of rounded networks to keep.
        samples: number of networks drawn from a Gaussian to predict with it.
        out: file for the Gaussian, or with --bits for the networks; an existing one is not overwritten.
        data: name of the dataset.
        max_draws: the most draws that are used, evenly spaced.
        max_examples: the most test examples on which networks are evaluated.
        json: a file to write the numbers of the table to; - is the standard output.
    """

    run: OneRun
    rank: int = 10
    align: bool = True
    bits: Annotated[float | None, default("no such networks")] = None
    networks: int = 20
    samples: int = 100
    out: Annotated[
        Path | None, default("gaussian-rank-RANK or networks-BITS-bits .safetensors in the run's folder")
    ] = None
    data: Annotated[str | None, default("the one that the run names")] = None
    max_draws: int = 4000
    max_examples: int = Bounds.examples
    json: Json = None

    def __call__(self) -> None:
        output = Output(self.json)
        require_counts(least=0, rank=self.rank)
        if self.bits is not None:
            require_positive(bits=self.bits)
        require_counts(
            networks=self.networks,
            samples=self.samples,
            max_draws=self.max_draws,
            max_examples=self.max_examples,
        )
        dataset, run = dataset_of(Run(self.run), self.data), engine.open_run(self.run)
        what = f"gaussian-rank-{self.rank}" if self.bits is None else f"networks-{self.bits:g}-bits"
        out = self.out or self.run / f"{what}.safetensors"
        if out.exists():
            raise FileExistsError(f"{out} is there already: choose another file with --out")
        bounds = Bounds(draws=self.max_draws, numbers=2**28, examples=self.max_examples, samples=self.samples)
        draws = bounds.some_draws(run.draws)
        parts = held_out(draws)
        if parts is None:
            raise ValueError(
                f"{self.run} has too few draws, or --max-draws leaves too few: at least three are needed to "
                "fit some and hold others out"
            )
        with Console(stderr=True).status("looking for symmetries") as status:
            forms = {"raw": parts[0]}
            if self.align:
                require(movable(run.group), f"the network of {self.run} has no symmetries: give --no-align")
                status.update("aligning")
                forms["aligned"] = symmetry.align(parts[0], run.group).draws
            most, count = largest_rank(parts[0]), parts[0].chains * len(parts[0])
            require(
                self.rank <= most,
                f"{count:,} draws of {weight_count(parts[0]):,} weights are fitted, "
                f"so the rank is at most {most:,}",
            )
            test = bounds.some_examples(dataset.test, run.network)
            found = compactness(
                run,
                forms,
                parts[1],
                test,
                (0, self.rank),
                self.samples,
                status.update,
                dataset.target_scaling,
                bounds.some_examples(dataset.train, run.network),
                bits=self.bits,
                networks=self.networks,
            )
        made = (
            found.gaussians["aligned" if self.align else "raw"] if found.networks is None else found.networks
        )
        made.save(out)
        output.show(terminal_table(compactness_table(found)))
        looked, there = (d.chains * len(d) for d in (draws, run.draws))
        if looked < there:
            output.line(f"{looked:,} of {there:,} draws were used, evenly spaced; use more with --max-draws")
        told = f"Gaussian of rank {self.rank}"
        if found.networks is not None:
            told = f"{len(found.networks)} networks in {found.networks.bits / 1000:,.0f} kbit"
        output.line(f"{told}: {out}")
        counts = {"fitted": found.fitted, "held_out": found.held_out, "examples": found.examples}
        output.numbers(counts | {"file": str(out), "rows": [asdict(row) for row in found.rows]})
