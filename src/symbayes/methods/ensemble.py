"""Deep ensembles of maximum-a-posteriori networks.

Each member is trained by mini-batches to a maximum of the posterior density
(`methods/phases/train.py` has the loss), from its own initialisation and in its own order.  The members are
chains with one draw each.  They are modes, not draws: their spread is not the posterior's.

A temperature changes nothing where it tempers the whole posterior; where it tempers the likelihood only, the
prior's term is multiplied by it.  The statistic of every epoch is `loss`; draws also have `energy` and
`log_likelihood`.

References: Lakshminarayanan, Pritzel & Blundell (2017), Simple and scalable predictive uncertainty
estimation using deep ensembles; Kingma & Ba (2015), Adam.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from symbayes.engine.method import Method, method
from symbayes.methods.phases import Train
from symbayes.methods.phases.train import Optimizer, Schedule
from symbayes.posterior import Posterior
from symbayes.specs import Count, Positive


@method
class DeepEnsemble(Method):
    """An ensemble of networks trained from scratch (Lakshminarayanan et al. 2017), each a mode.

    Attributes:
        learning_rate: learning rate of the optimiser, for the mean loss per example.
        epochs: passes over the training data.
        batch: examples in a mini-batch; what is left of an epoch is dropped, another part each time.
        chains: members of the ensemble.
        optimizer: adam, or sgd with momentum 0.9.
        schedule: the learning rate falls to zero along a cosine, or stays constant.
    """

    name: ClassVar[str] = "ensemble"
    remedy: ClassVar[str] = "use a smaller learning_rate, and inputs of the order of one"
    example: ClassVar[str] = "--epochs 300 --chains 10 --learning-rate 3e-3"

    learning_rate: Positive = 1e-3
    epochs: Count = 50
    batch: Count = 100
    chains: Count = 5
    optimizer: Optimizer = "adam"
    schedule: Schedule = "cosine"

    def resolve(self, posterior: Posterior) -> DeepEnsemble:
        return dataclasses.replace(self, batch=min(self.batch, posterior.size))

    def phases(self, posterior: Posterior) -> tuple[Train]:
        train = Train(
            units=self.epochs,
            learning_rate=self.learning_rate,
            cosine=self.schedule == "cosine",
            batch=self.batch,
            optimizer=self.optimizer,
        )
        return (train,)
