"""Mean-field variational inference.

A Gaussian with independent weights is fitted to the posterior (`methods/phases/variational.py` has the
equations) and drawn from.  Its mean starts at fresh networks, at a start that is given, or at the result of
`train` epochs of training (`methods/phases/train.py` has the loss).

Use it for a cheap spread around one mode, or, with more chains, for a mixture of one Gaussian per chain.  An
epoch costs about as much as two of training, and two numbers are stored per weight.  It neglects correlations
between weights, so it underestimates the spread.

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
        chains: number of Gaussians, each around its own mode.
        train: epochs before these, in which the mean alone is trained; none where a start is given.
        scale: initial standard deviation of every weight.
        kl_warmup: share of the fit in which the divergence from the prior first rises to its full weight.
        estimator: how the noise of weights is drawn: local, for each example at the outputs of dense layers,
            and by random signs where an example uses a weight more than once; flipout, by random signs
            everywhere; or shared by all examples of a mini-batch, with the most variance.
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
        return [f"noise that all examples of a mini-batch share: {', '.join(once)}"]

    def tell(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        bounds = ", ".join(f"{bound:,.1f}" for bound in traces["elbo"][:, -1])
        return [f"lower bound on the log evidence, in the last epoch of each chain: {bounds}"]
