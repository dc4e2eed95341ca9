"""Stochastic-gradient Langevin dynamics.

Every step follows the gradient of a mini-batch and adds noise (`methods/phases/diffusion.py` has the
equation, with ``m = 0``).

Use it where a gradient over all data is too expensive, and where a bias that shrinks with the learning rate
is acceptable; measure it against HMC on a network that is small enough.  With a cyclical schedule each cycle
may reach another mode.  SGHMC moves further for the same number of gradients.

The default learning rate is a compromise that works without tuning.  With it the accuracy of the average was
96.9 % on the digits (64-32-10, prior ``N(0, 1)``), where that of HMC was 98.1 %.  With 2,000 images of MNIST
and a 784-30-10 network it was 83.0 %, and 83.2 % for HMC, under the prior ``N(0, 1)``; and 83.6 %, and 85.7 %
for HMC, under ``N(0, 0.04)``.  Directions that only the prior constrains mix in about ``N s^2 / l`` steps,
for ``N`` examples, the prior's standard deviation ``s`` and the learning rate ``l``: increase the latter, or
`burn_in`, where they matter.

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
        learning_rate: learning rate for the mean loss per example, as for an optimiser.
    """

    name: ClassVar[str] = "sgld"
    example: ClassVar[str] = "--learning-rate 0.03 --schedule cyclical --draws 50"

    def phases(self, posterior: Posterior) -> tuple[Diffusion, Diffusion]:
        return diffusions(self, momentum=None)
