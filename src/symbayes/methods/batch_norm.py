"""Monte-Carlo batch normalisation.

A network with batch normalisation is trained as usual, or given as a start.  Its draws have the same weights,
and each has the statistics of one mini-batch of the training data (`methods/phases/batches.py` has the
formula): the noise of training is kept in prediction.

Use it on any trained network with batch statistics: nothing is trained again, and a draw costs a pass over
one mini-batch.  The spread is set by the size of mini-batches and by the network, not by the amount of data,
so check its calibration.  Networks without batch statistics are refused.

The statistic of every epoch is `loss`; those of draws are `energy` and `log_likelihood`.

References: Teye, Azizpour & Smith (2018), Bayesian uncertainty estimation for batch normalized deep
networks.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Batches
from symbayes.methods.training import REMEDY, StoppableTraining, Training
from symbayes.networks import has_statistics
from symbayes.posterior import Posterior
from symbayes.specs import Count, Natural, require


@method
class MCBatchNorm(StoppableTraining):
    """Monte-Carlo batch normalisation (Teye et al. 2018): each draw has the statistics of one mini-batch.

    Attributes:
        epochs: passes over the training data; none where a start is given.
        batch: examples in a mini-batch, in training and for the statistics of a draw.
        draws: draws of each chain.
    """

    name: ClassVar[str] = "batch-norm"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--network resnet18 --draws 50"
    extends: ClassVar[str | None] = "draws"

    epochs: Natural = 50
    chains: Count = 1
    draws: Count = 30

    def resolve(self, posterior: Posterior) -> Training:
        require(
            has_statistics(jax.eval_shape(posterior.init, jax.random.key(0))),
            "this network has no batch statistics: use one with batch normalisation, such as resnet18",
        )
        return super().resolve(posterior)

    def started(self) -> MCBatchNorm:
        return dataclasses.replace(self, epochs=0)

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        return self.stoppable(posterior, self.training(posterior)), Batches(self.draws, self.batch)
