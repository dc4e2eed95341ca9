"""A stored run, opened again for predictions: its network and likelihood rebuilt from its record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symbayes import networks, specs
from symbayes.draws import Draws, Run, RunError
from symbayes.networks import Network
from symbayes.posterior import Predictive, likelihoods
from symbayes.posterior.likelihoods import Likelihood
from symbayes.posterior.predictive import predict


@dataclass(frozen=True)
class Reopened:
    """What a stored run drew, and what it takes to predict with it."""

    run: Run
    network: Network
    likelihood: Likelihood

    @property
    def draws(self) -> Draws:
        return self.run.draws

    @property
    def method(self) -> str:
        """The name of the method's class."""
        return self.run.config["method"]["kind"]

    def predict(self, x: Any) -> Predictive:
        """The predictive distribution of every stored draw."""
        return predict(self.network, self.likelihood, self.draws, x)


def reopen(path: str | Path) -> Reopened:
    """Open a run folder; what is committed so far counts, finished or not."""
    run = Run(path)
    posterior = run.config["posterior"]
    if not run.draws.segments:
        raise RunError(f"{run.path} holds no draws yet: run it to its end first, or with keep=1")
    return Reopened(
        run,
        networks.from_spec(posterior["network"]),
        specs.decode(posterior["likelihood"], likelihoods.KINDS),
    )
