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

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.methods.phases import Diffusion
from symbayes.methods.phases.diffusion import diffusions
from symbayes.methods.stochastic import Stochastic
from symbayes.posterior import Posterior


@method
class SGLD(Stochastic):
    """Stochastic-gradient Langevin dynamics (Welling & Teh 2011): biased at a finite learning rate.

    Attributes:
        learning_rate: on the mean loss per example, as for an optimiser.
    """

    name: ClassVar[str] = "sgld"
    example: ClassVar[str] = "--learning-rate 0.03 --schedule cyclical --draws 50"

    def phases(self, posterior: Posterior) -> tuple[Diffusion, Diffusion]:
        return diffusions(self, momentum=None)
