"""The demonstration: a real posterior, from digits to a page.

An MLP with 32 hidden units on scikit-learn's digits, drawn from by Hamiltonian Monte Carlo and by a
deep ensemble, measured side by side, and then with the symmetries of the network divided out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from symbayes import data, networks
from symbayes.engine import estimate, run
from symbayes.methods import HMC, DeepEnsemble
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.report import Report


@dataclass(frozen=True)
class Demo:
    """Draw from a real posterior on the embedded digits, and write a page about it.

    Attributes:
        out: folder for the runs and the page; what is there already is not computed again.
        seed: seed of both runs.
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
        }
        for name, method in methods.items():
            if not (self.out / name / "config.json").exists():
                console.print(f"{name}: {estimate(method, posterior)}", highlight=False)
            run(
                method,
                posterior,
                seed=self.seed,
                store=self.out / name,
                progress=True,
                about={"data": dataset.name},
            )
        with console.status("measuring and drawing") as status:
            runs = {name: self.out / name for name in methods}
            report = Report.of(runs, dataset, reference="hmc", tell=status.update)
            page = report.write(self.out / "index.html")
            report.write_numbers(self.out / "results.json")
        Console().print(report.comparison)
        Console().print(f"[bold]page:[/bold] {page.resolve().as_uri()}", soft_wrap=True)
        return page
