"""The posterior that the study compresses, and the methods that draw from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbayes import data, networks, symmetry, trees
from symbayes.analyse.compactness import held_out
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.methods import HMC, CheckpointEnsemble, DeepEnsemble, MeanField
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.posterior.posterior import Precision
from symbayes.studies.desk import Desk

COUNTS = {1: "one", 2: "two", 3: "three"}


@dataclass(frozen=True)
class Case:
    """A multi-layer perceptron with the prior N(0, scale^2).

    Attributes:
        name: folder of its runs.
        data: name of the dataset.
        elsewhere: name of the out-of-distribution dataset.
        hidden: widths of the hidden layers.
        scale: standard deviation of the prior.
        precision: precision of the products in gradients.
        hmc: two chains or more; one half is fitted, and the fits are compared with the other half.
        ensemble: a deep ensemble of the same posterior.
        vi: a mean-field Gaussian.
        training: two networks, stored at every epoch.
        fitted: the largest number of draws that are aligned and fitted, over all chains.
        samples: number of networks drawn from a Gaussian to predict with it.
        inputs: number of training inputs at which activations are matched.
    """

    name: str
    data: str
    elsewhere: str
    hidden: tuple[int, ...]
    scale: float
    precision: Precision
    hmc: HMC
    ensemble: DeepEnsemble
    vi: MeanField
    training: CheckpointEnsemble | None
    fitted: int
    samples: int
    inputs: int = 500

    def dataset(self) -> data.Dataset:
        return data.load(self.data)

    def posterior(self) -> Posterior:
        dataset = self.dataset()
        return Posterior(
            networks.mlp(self.hidden, dataset.sizes["outputs"]),
            likelihoods.Categorical(),
            priors.Normal(self.scale),
            dataset.train,
            precision=self.precision,
        )

    @property
    def words(self) -> str:
        count = len(self.hidden)
        return f"{COUNTS.get(count, str(count))} hidden layer{'' if count == 1 else 's'}"

    def drawn(self, desk: Desk, name: str, method: Any, **options: Any) -> Opened:
        return desk.run(f"{self.name}/{name}", method, self.posterior(), self.dataset(), **options)

    def halves(self, run: Opened) -> tuple[Draws, Draws]:
        """Draws to fit, evenly spaced and at most `fitted`; and all draws held out."""
        parts = held_out(run.draws)
        assert parts is not None
        return self.some(parts[0]), parts[1]

    def early_and_late(self, run: Opened) -> tuple[Draws, Draws]:
        """The same, with the first draws of every chain to fit and the last ones held out."""
        middle = (len(run.draws) + 1) // 2
        early = run.draws.select(draws=np.arange(middle))
        return self.some(early), run.draws.select(draws=np.arange(middle, len(run.draws)))

    def some(self, draws: Draws) -> Draws:
        each = max(2, self.fitted // draws.chains)
        places = np.unique(np.linspace(0, len(draws) - 1, min(each, len(draws))).round().astype(int))
        return draws.select(draws=places)

    def matched(self, run: Opened) -> symmetry.Activations:
        """As in the paper: units are matched by their activations, and nothing is rescaled."""
        return symmetry.Activations(
            run.network.apply, np.asarray(self.dataset().train.x)[: self.inputs], scale=None
        )

    def rebased(self, desk: Desk, run: Opened, draws: Draws, what: str) -> Draws:
        """As in the paper: activations matched to those of the first draw."""
        to = trees.index(draws.select([0], [0]).variables, (0, 0))
        return desk.aligned(f"{self.name}: rebasing {what}", draws, run.group, self.matched(run), to)

    def joint(self, desk: Desk, run: Opened, draws: Draws, what: str, scale: str | None = None) -> Draws:
        """All draws aligned to one another by their weights; with a scale, scales are removed too."""
        removed = ", scales removed" if scale else ""
        return desk.aligned(
            f"{self.name}: aligning {what}{removed}", draws, run.group, symmetry.Weights(scale)
        )
