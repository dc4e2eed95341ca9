"""The posterior whose compact forms are looked for, and how it is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symbayes import data, networks, symmetry
from symbayes.analyse.compactness import held_out
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.methods import HMC, CheckpointEnsemble, DeepEnsemble, MeanField
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.posterior.posterior import Precision
from symbayes.studies.desk import Desk


@dataclass(frozen=True)
class Case:
    """A multi-layer perceptron with the prior N(0, scale^2).

    Attributes:
        data: name of the dataset.
        hidden: widths of the hidden layers.
        scale: standard deviation of the prior.
        precision: of the products in gradients.
        hmc: two chains or more, of which one half is fitted and the other judges.
        ensemble: of the same posterior.
        vi: a mean-field Gaussian.
        training: two networks, kept at many epochs.
        fitted: the most draws that are aligned and fitted, of all chains together.
        samples: networks drawn from a Gaussian to predict with it.
        inputs: training inputs at which activations are matched.
    """

    data: str
    hidden: tuple[int, ...]
    scale: float
    precision: Precision
    hmc: HMC
    ensemble: DeepEnsemble
    vi: MeanField
    training: CheckpointEnsemble
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

    def drawn(self, desk: Desk, name: str, method: Any, **options: Any) -> Opened:
        return desk.run(name, method, self.posterior(), self.dataset(), **options)

    def halves(self, run: Opened) -> tuple[Draws, Draws]:
        """Draws to be fitted, at most so many, evenly spaced; and draws held out, all of them."""
        parts = held_out(run.draws)
        assert parts is not None
        fit, rest = parts
        each = max(2, self.fitted // fit.chains)
        places = np.unique(np.linspace(0, len(fit) - 1, min(each, len(fit))).round().astype(int))
        return fit.select(draws=places), rest

    def rebased(self, run: Opened, draws: Draws) -> Draws:
        """As in the paper: activations matched to those of the first draw, scales as they are."""
        x = np.asarray(self.dataset().train.x)[: self.inputs]
        first = draws.select([0], [0]).variables
        to = _only(first)
        by = symmetry.Activations(run.network.apply, x, scale=None)
        moved = symmetry.align(draws, run.group, to=to, by=by).draws
        assert isinstance(moved, Draws)
        return moved

    def joint(self, run: Opened, draws: Draws, scale: str | None = None) -> Draws:
        """All draws aligned to one another by their weights; with a scale, scales are removed too."""
        moved = symmetry.align(draws, run.group, by=symmetry.Weights(scale)).draws
        assert isinstance(moved, Draws)
        return moved


def _only(variables: Any) -> Any:
    import jax

    return jax.tree.map(lambda leaf: np.asarray(leaf)[0, 0], variables)
