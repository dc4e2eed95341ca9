"""Stochastic-gradient Langevin dynamics.

Every step follows the gradient of a mini-batch and adds noise (`methods/phases/diffusion.py` has the
equation, with ``m = 0``).

Use it where a gradient over all data is too expensive, and where a bias that shrinks with the learning rate
is acceptable; measure it against HMC on a network that is small enough.  With a cyclical schedule each cycle
may reach another mode.  SGHMC moves further for the same number of gradients.

`burn_in`, `thin` and `cycle` count epochs.  Statistics of every epoch are `loss` (its mean over mini-batches)
and `rate` (the learning rate); draws also have `energy` (minus the log density) and `log_likelihood`
(untempered, over all data), which cost a pass over the data each.

References: Welling & Teh (2011), Bayesian learning via stochastic gradient Langevin dynamics.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from symbayes.engine.method import Method, method
from symbayes.methods.phases import Diffusion
from symbayes.methods.phases.diffusion import Schedule, diffusions
from symbayes.posterior import Posterior
from symbayes.specs import Count, Natural, Positive, Share


@method
class SGLD(Method):
    """Stochastic-gradient Langevin dynamics (Welling & Teh 2011): biased at a finite learning rate.

    Attributes:
        learning_rate: on the mean loss per example, as for an optimiser.
        batch: examples in a mini-batch; what is left of an epoch is dropped, another part each time.
        burn_in: epochs before the first draw is kept.
        thin: epochs from one draw to the next.
        draws: draws of each chain.
        chains: independent chains.
        schedule: the learning rate is constant, decaying, or cyclical.
        decay: epochs after which a decaying rate begins to fall.
        cycle: epochs in a cycle.
        exploration: share of a cycle that explores, without noise and without draws.
        precondition: scale the steps of every weight in the style of RMSprop, adapted during burn-in.
    """

    name: ClassVar[str] = "sgld"
    remedy: ClassVar[str] = "use a smaller learning_rate, and inputs of the order of one"
    example: ClassVar[str] = "--learning-rate 0.03 --schedule cyclical --draws 50"
    extends: ClassVar[str | None] = "draws"

    learning_rate: Positive = 0.03
    batch: Count = 100
    burn_in: Natural = 100
    thin: Count = 10
    draws: Count = 100
    chains: Count = 4
    schedule: Schedule = "constant"
    decay: Count = 100
    cycle: Count = 50
    exploration: Share = 0.8
    precondition: bool = False

    def resolve(self, posterior: Posterior) -> SGLD:
        return dataclasses.replace(self, batch=min(self.batch, posterior.size))

    def phases(self, posterior: Posterior) -> tuple[Diffusion, Diffusion]:
        return diffusions(self, momentum=None)
