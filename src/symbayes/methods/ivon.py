"""Improved variational online Newton.

A Gaussian with independent weights is fitted (`methods/phases/newton.py` has the equations) and drawn from.
It is the same approximation as mean-field variational inference, with steps as cheap as those of Adam: one
gradient at noisy weights gives both the step of the mean and the curvature.

Use it in place of an optimiser, to train a network and its spread together.  Weight decay and sample size are
not options: they follow from the temperature and from the prior, which must be normal, one for all weights or
one per layer.  The initial curvature is not an option either: it is the one whose spread is `scale`, for any
number of examples.  Estimating the curvature takes about ``1 / (1 - b_2)`` steps, with ``b_2`` the option
`beta2`; a run with fewer keeps its initial spread.

The statistic of every epoch is `loss`; draws have `energy` and `log_likelihood`.

References: Shen et al. (2024), Variational learning is effective for large deep networks.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax

from symbayes.engine.method import Method, method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import OnlineNewton, Sample
from symbayes.methods.phases.schedules import Rate, Schedule
from symbayes.methods.training import gentle
from symbayes.posterior import Posterior
from symbayes.posterior.priors import normal_scales
from symbayes.specs import Count, Positive, Share, require

USUAL = 0.2
"""The learning rate of a classification of examples."""


@method
class IVON(Method):
    """Improved variational online Newton (Shen et al. 2024): a Gaussian with independent weights.

    Attributes:
        learning_rate: learning rate at the initial curvature; by default 0.2, or less where the likelihood is
            steep.
        epochs: passes over the training data.
        batch: examples in a mini-batch; examples that do not fill the last one are left out, different ones
            in each epoch.
        scale: initial standard deviation of every weight.
        beta1: share of the running gradient that a step keeps.
        beta2: share of the curvature that a step keeps.
        draws: draws of each chain.
        chains: independent Gaussians.
        schedule: the learning rate is constant, falls to zero linearly or along a cosine, or falls in steps:
            to a tenth after half of the training and to a hundredth after three quarters.
    """

    name: ClassVar[str] = "ivon"
    remedy: ClassVar[str] = "use a smaller learning_rate or a smaller scale"
    example: ClassVar[str] = "--epochs 200 --learning-rate 0.1 --chains 5"
    extends: ClassVar[str | None] = "draws"
    trains: ClassVar[bool] = True

    learning_rate: Positive | None = None
    epochs: Count = 100
    batch: Count = 100
    scale: Positive = 0.02
    beta1: Share = 0.9
    beta2: Share = 0.999
    draws: Count = 50
    chains: Count = 1
    schedule: Schedule = "cosine"

    def resolve(self, posterior: Posterior) -> IVON:
        params = jax.eval_shape(posterior.init, jax.random.key(0))["params"]
        require(
            normal_scales(posterior.prior, params) is not None,
            "ivon takes its weight decay from a normal prior: use priors.Normal, for all weights or per "
            "layer, or the method vi",
        )
        rate = self.learning_rate or gentle(USUAL, posterior)
        return dataclasses.replace(self, learning_rate=rate, batch=min(self.batch, posterior.size))

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        assert self.learning_rate is not None, "resolve the method first"
        newton = OnlineNewton(
            units=self.epochs,
            rate=Rate.of(self.learning_rate, self.schedule, self.epochs),
            scale=self.scale,
            beta1=self.beta1,
            beta2=self.beta2,
            batch=self.batch,
        )
        return newton, Sample(self.draws, statistics=True)
