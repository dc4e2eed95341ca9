"""Stochastic weight averaging, Gaussian.

A network is trained with a learning rate that falls to a plateau.  Training continues there, and a Gaussian
with a covariance of diagonal plus low rank is fitted to the weights at the end of every epoch
(`methods/phases/collecting.py` has the formula).  Draws are from that Gaussian, with statistics of
normalisers computed again for each.

Use it for a spread around one solution at the cost of ordinary training, plus the epochs of collecting, a
pass over the data for each draw of a network with batch statistics, and ``rank + 2`` stored numbers per
weight.  With several chains it is multi-SWAG: each fits a Gaussian around its own mode.  A start that is
given replaces the training, so that the Gaussian is fitted around a trained network.

The statistic of every epoch is `loss`; those of draws are `energy` and `log_likelihood`.  The Gaussians are
kept with the run, as its `distribution`.

References: Maddox, Garipov, Izmailov, Vetrov & Wilson (2019), A simple baseline for Bayesian uncertainty in
deep learning; Wilson & Izmailov (2020), Bayesian deep learning and a probabilistic perspective of
generalization.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Collect, Sample
from symbayes.methods.swa import SWA
from symbayes.methods.training import Training
from symbayes.posterior import Posterior
from symbayes.specs import Count, require


@method
class SWAG(SWA):
    """Stochastic weight averaging, Gaussian (Maddox et al. 2019): draws around one mode, or around many.

    Attributes:
        epochs: passes over the training data before weights are collected; none where a start is given.
        rank: number of last epochs whose deviations are kept, at most `collect`.
        draws: draws of each chain.
    """

    name: ClassVar[str] = "swag"
    example: ClassVar[str] = "--chains 10 --draws 20"
    extends: ClassVar[str | None] = "draws"

    rank: Count = 20
    draws: Count = 30

    def check(self) -> None:
        super().check()
        require(
            self.collect > 1 and self.rank > 1,
            "a spread needs two epochs: use collect and rank above 1",
        )

    def resolve(self, posterior: Posterior) -> Training:
        fewer = dataclasses.replace(self, rank=min(self.rank, self.collect))
        return super(SWAG, fewer).resolve(posterior)

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        collect = self.training(posterior, Collect, rank=self.rank, **self._taking())
        return self._trained(posterior), collect, Sample(self.draws, statistics=True)
