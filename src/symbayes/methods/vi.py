"""Mean-field variational inference.

A Gaussian with independent weights is fitted to the posterior (`methods/phases/variational.py` has the
equations) and drawn from.  Its mean begins at fresh networks, at a start that is given, or where `train`
epochs of training have brought it (`methods/phases/train.py` has the loss).

Use it for a cheap spread around one mode (or, with more chains, a mixture of one Gaussian for each): an epoch
costs about as much as two of training, and what is stored is two numbers per weight.  Independent weights
cannot follow the ridges of a posterior, so it tells too little spread.

Statistics of every epoch of the fit are `elbo`, `loss` and `kl`; every draw has an `elbo` too, and their mean
over draws is the estimate of the bound on the log evidence.

References: Blundell et al. (2015), Weight uncertainty in neural networks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from symbayes.engine.method import Method, method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Train, Variational
from symbayes.methods.phases.train import Optimizer, Schedule
from symbayes.methods.phases.variational import Estimator, SampleWithBound
from symbayes.posterior import Posterior
from symbayes.specs import Count, Natural, Positive


@method
class MeanField(Method):
    """Mean-field variational inference (Blundell et al. 2015): one Gaussian with independent weights.

    Attributes:
        learning_rate: learning rate of the optimiser, for the mean loss per example.
        epochs: passes over the training data in which the Gaussian is fitted.
        train: epochs before that, in which the mean alone is trained; none where a start is given.
        batch: examples in a mini-batch; what is left of an epoch is dropped, another part each time.
        warm_up: epochs until the divergence from the prior has its full weight.
        scale: standard deviation of every weight when the fit begins.
        estimator: how the weights' noise is drawn: shared by all examples of a mini-batch.
        draws: draws of each chain.
        chains: independent Gaussians.
        optimizer: adam, or sgd with momentum 0.9.
        schedule: the learning rate falls to zero along a cosine, or stays constant.
    """

    name: ClassVar[str] = "vi"
    remedy: ClassVar[str] = "use a smaller learning_rate, and inputs of the order of one"
    example: ClassVar[str] = "--epochs 200 --warm-up 50 --learning-rate 3e-3"
    extends: ClassVar[str | None] = "draws"

    learning_rate: Positive = 3e-3
    epochs: Count = 100
    train: Natural = 0
    batch: Count = 100
    warm_up: Natural = 0
    scale: Positive = 0.02
    estimator: Estimator = "shared"
    draws: Count = 50
    chains: Count = 1
    optimizer: Optimizer = "adam"
    schedule: Schedule = "cosine"

    def resolve(self, posterior: Posterior) -> MeanField:
        return dataclasses.replace(self, batch=min(self.batch, posterior.size))

    def started(self) -> MeanField:
        return dataclasses.replace(self, train=0)

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        train = Train(
            units=self.train,
            learning_rate=self.learning_rate,
            cosine=self.schedule == "cosine",
            keeps=False,
            batch=self.batch,
            optimizer=self.optimizer,
        )
        approximate = Variational(
            units=self.epochs,
            learning_rate=self.learning_rate,
            cosine=self.schedule == "cosine",
            scale=self.scale,
            warm_up=self.warm_up,
            batch=self.batch,
            optimizer=self.optimizer,
            estimator=self.estimator,
        )
        return train, approximate, SampleWithBound(units=self.draws)

    def tell(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        bounds = traces["elbo"][:, -1]
        each = ", ".join(f"{bound:,.1f}" for bound in bounds)
        return [f"lower bound on the log evidence, in the last epoch of each chain: {each}"]
