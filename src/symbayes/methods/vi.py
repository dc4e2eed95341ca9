"""Mean-field variational inference.

A Gaussian with independent weights is fitted to the posterior (`methods/phases/variational.py` has the
equations) and drawn from.  Its mean begins at fresh networks, at a start that is given, or where `train`
epochs of training have brought it (`methods/phases/train.py` has the loss).

Use it for a cheap spread around one mode (or, with more chains, a mixture of one Gaussian for each): an epoch
costs about as much as two of training, and what is stored is two numbers per weight.  Independent weights
cannot follow the ridges of a posterior, so it underestimates the spread.

Statistics of every epoch of the fit are `elbo`, `loss` and `kl`; every draw has an `elbo` too, and their mean
over draws is the estimate of the bound on the log evidence.

References: Blundell et al. (2015), Weight uncertainty in neural networks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Variational
from symbayes.methods.phases.variational import SampleWithBound, sampled_once
from symbayes.methods.training import REMEDY, Training
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.noise import Estimator
from symbayes.specs import Count, Natural, Part, Positive


@method
class MeanField(Training):
    """Mean-field variational inference (Blundell et al. 2015): one Gaussian with independent weights.

    Attributes:
        epochs: passes over the training data in which the Gaussian is fitted.
        chains: Gaussians, each around a mode of its own.
        train: epochs before these, in which the mean alone is trained; none where a start is given.
        scale: standard deviation of every weight when the fit begins.
        kl_warmup: share of the fit in which the divergence from the prior first rises to its full weight.
        estimator: how the weights' noise is drawn: local, for each example at the outputs of dense layers and
            by signs where it meets weights more than once; flipout, by signs everywhere; or shared by all
            examples of a mini-batch, with the most variance.
        draws: draws of each chain.
    """

    name: ClassVar[str] = "vi"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--epochs 300 --kl-warmup 0.2 --learning-rate 3e-3"
    extends: ClassVar[str | None] = "draws"

    learning_rate: Positive = 3e-3
    epochs: Count = 100
    chains: Count = 1
    train: Natural = 0
    scale: Positive = 0.02
    kl_warmup: Part = 0.0
    estimator: Estimator = "local"
    draws: Count = 50

    def started(self) -> MeanField:
        return dataclasses.replace(self, train=0)

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        train = self.training(posterior, units=self.train, rate=self.rate(span=max(1, self.train)))
        fit = Variational(
            self.training(posterior),
            scale=self.scale,
            rising=self.kl_warmup,
            estimator=self.estimator,
        )
        return train, fit, SampleWithBound(self.draws, statistics=True)

    def notes(self, posterior: Posterior) -> list[str]:
        once = sampled_once(posterior, self.batch, self.estimator)
        if not once or self.estimator == "shared":
            return []
        return [f"drawn once for all examples of a mini-batch: {', '.join(once)}"]

    def tell(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        bounds = ", ".join(f"{bound:,.1f}" for bound in traces["elbo"][:, -1])
        return [f"lower bound on the log evidence, in the last epoch of each chain: {bounds}"]
