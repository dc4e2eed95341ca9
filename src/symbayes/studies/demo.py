"""The demonstration: a real posterior, from digits to a page.

The posterior of an MLP with 32 hidden units on scikit-learn's digits is drawn from by Hamiltonian Monte
Carlo, by a deep ensemble, and, around one member of the ensemble, by SWAG and by a Laplace approximation.
The four are compared, and then compared again with the symmetries of the network removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from symbayes import data, networks
from symbayes.draws import Run
from symbayes.engine import estimate, run
from symbayes.methods import HMC, SWAG, DeepEnsemble, Laplace
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.report import Report

AROUND_A_MEMBER = ("swag", "laplace")
"""Runs that begin at a member of the ensemble: with one mode, symmetries show nothing."""


@dataclass(frozen=True)
class Demo:
    """Draw from a real posterior on the embedded digits, and write a page about it.

    Example: symbayes demo --out runs/demo

    Attributes:
        out: folder for the runs and the page; runs that are there already are not computed again.
        seed: seed of all runs.
    """

    out: Path = Path("runs/demo")
    seed: int = 0

    def __call__(self) -> Path:
        console = Console(stderr=True)
        dataset = data.load("digits")
        posterior = Posterior(
            networks.mlp(hidden=(32,), outputs=10),
            likelihoods.Categorical(),
            priors.Normal(scale=0.5),
            dataset.train,
            dataset.validation,
        )
        methods = {
            "hmc": HMC(step_size=8e-3, trajectory=0.48, burn_in=60, draws=200, chains=4),
            "ensemble": DeepEnsemble(epochs=300, chains=10, learning_rate=3e-3, schedule="cosine"),
            "swag": SWAG(collect=60, draws=30, chains=1),
            "laplace": Laplace(draws=30, chains=1),
        }
        for name, method in methods.items():
            # One chain begins at the first member.
            start = Run(self.out / "ensemble").draws if name in AROUND_A_MEMBER else None
            if not (self.out / name / "config.json").exists():
                told = method if start is None else method.started()
                console.print(f"{name}: {estimate(told, posterior)}", highlight=False)
            run(
                method,
                posterior,
                seed=self.seed,
                store=self.out / name,
                start=start,
                progress=True,
                about={"data": dataset.name},
            )
        with console.status("measuring and drawing") as status:
            runs = {name: self.out / name for name in methods}
            many = [name for name in runs if name not in AROUND_A_MEMBER]
            report = Report.of(runs, dataset, reference="hmc", tell=status.update, symmetries=many)
            page = report.write(self.out / "index.html")
            report.write_numbers(self.out / "results.json")
        Console().print(report.comparison)
        Console().print(f"[bold]page:[/bold] {page.resolve().as_uri()}", soft_wrap=True)
        return page
